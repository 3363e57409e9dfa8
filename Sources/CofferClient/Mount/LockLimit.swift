internal import CofferSystem

/// Gives up an attempt to lock the profile that takes too long.
///
/// An attempt has two parts, before and behind the closed gate; each may take that long.
final class LockLimit: Sendable {
    /// How far the attempt has come.
    enum Progress: Int, Sendable {
        case start, gate, end
    }

    private let progress: Condition<Progress>

    /// Begins to measure.
    ///
    /// - Parameters:
    ///   - startsAtGate: Whether programs may be refused already, so that both parts together have that time.
    ///   - giveUp: Called on a thread of its own once a part has taken too long.
    init(
        nanoseconds: Int64, startsAtGate: Bool, giveUp: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let progress = Condition(Progress.start)
        self.progress = progress
        let goals: [Progress] = startsAtGate ? [.end] : [.gate, .end]
        try Thread.startDetached("coffer-lock-limit") {
            for goal in goals {
                let isInTime = progress.wait(nanoseconds: nanoseconds) { reached in
                    reached.rawValue >= goal.rawValue ? true : nil
                }
                if isInTime == nil { return giveUp() }
            }
        }
    }

    /// Notes how far the attempt has come.
    func reach(_ reached: Progress) { progress.update { $0 = reached } }
}
