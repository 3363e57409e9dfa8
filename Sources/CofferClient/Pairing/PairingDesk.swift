internal import CofferSystem
internal import CofferTrust

/// Where a pairing that runs in a profile meets the person's answers, which come as requests of their own.
final class PairingDesk: Sendable {
    private struct State {
        var isBusy = false
        /// What the person is asked; nil for nothing.
        var question: Question?
        var answer: Bool?
        var attemptsLeft = 0
    }

    /// What the person is asked.
    enum Question: Equatable {
        /// To enter the code that the other device shows.
        case enter(PairingCode)
        /// Whether the other device says that the codes are the same.
        case confirm
    }

    /// How often the code may be entered: mistakes of typing tell nobody anything.
    private static let attemptCountMax = 3

    private let state = Condition(State())

    /// Runs one pairing at a time.
    ///
    /// - Throws: `.device(.busy)`.
    func alone<Result>(_ body: () throws(ClientError) -> Result) throws(ClientError) -> Result {
        let isFree = state.withLock { state in
            defer { state.isBusy = true }
            return !state.isBusy
        }
        guard isFree else { throw .device(.busy) }
        defer { state.update { $0 = State() } }
        return try body()
    }

    /// Waits for the person's answer.
    ///
    /// - Throws: `.device(.noAnswer)`, `.device(.cancelled)`.
    func ask(_ question: Question, _ wait: PairingConnection.Wait) throws(ClientError) -> Bool {
        state.update { state in
            (state.question, state.answer, state.attemptsLeft) = (question, nil, Self.attemptCountMax)
        }
        defer { state.update { $0.question = nil } }
        let end = Clock.monotonic + wait.nanoseconds
        while Clock.monotonic < end {
            guard wait.isHeard() else { throw .device(.cancelled) }
            if let answer = state.wait(nanoseconds: 500_000_000, for: { $0.answer }) { return answer }
        }
        throw .device(.noAnswer)
    }

    /// Answers the question with a code that the person has entered.
    ///
    /// - Returns: Whether the code is right; nil if it is not, and may be entered again.
    func enter(_ text: String) throws(ClientError) -> Bool? {
        try state.update { state throws(ClientError) in
            guard case .enter(let code)? = state.question, state.answer == nil else {
                throw .device(.noQuestion)
            }
            state.attemptsLeft -= 1
            if code.isSame(as: text) {
                state.answer = true
            } else if state.attemptsLeft == 0 {
                state.answer = false
            }
            return state.answer
        }
    }

    /// Answers the question with yes or no.
    func confirm(_ isSame: Bool) throws(ClientError) {
        try state.update { state throws(ClientError) in
            guard let question = state.question, state.answer == nil, question == .confirm || !isSame else {
                throw .device(.noQuestion)
            }
            state.answer = isSame
        }
    }
}
