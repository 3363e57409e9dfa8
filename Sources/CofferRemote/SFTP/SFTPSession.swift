internal import CofferSystem

/// One connection to a server, by a program that passes packets on.
///
/// A thread moves the bytes; calls wait for answers on threads of their own, as many as there are. Everything that
/// arrives is bounded: a packet by what its request may be answered with, and the answers that are kept by the
/// number of requests under way. What breaks the protocol ends the connection.
final class SFTPSession: Sendable {
    private struct Request {
        let answerByteCountMax: Int
        var answer: SFTPAnswer?
        /// Whether nobody waits for the answer any more.
        var isAbandoned = false
    }

    private struct State {
        var requests: [UInt32: Request] = [:]
        var next: UInt32 = 0
        /// Packets that are not sent yet.
        var outgoing: [UInt8]
        /// What the server can do besides; nil until it has told its version.
        var extensions: Set<String>?
        /// Whether the server has answered a request.
        var isProven = false
        /// When the last whole answer came, or the wait for one began.
        var progress = Clock.monotonic
        /// Why there will be no more answers.
        var end: RemoteError?
        var isReleased = false
    }

    /// How many requests may be under way.
    private static let requestCountMax = 1024
    /// How many bytes may wait to be sent, before more of them are made.
    private static let outgoingByteCountMax = 1 << 20
    /// How long a call sleeps before it looks whether it was cancelled, in nanoseconds.
    private static let nap: Int64 = 200_000_000

    let server: SFTPServer
    private let state = Condition(State(outgoing: SFTPRequest.initialise))
    private let process: PipedProcess

    /// Starts the program; returns before the server has answered.
    init(_ server: SFTPServer) throws(RemoteError) {
        self.server = server
        do throws(SystemError) {
            process = try PipedProcess(server.command, environment: server.environment)
        } catch {
            throw error.isMissing ? server.missing : .failed("\(server.command[0]): \(error)")
        }
        do throws(SystemError) {
            try Thread.startDetached("coffer-sftp-io") { [self] in run() }
        } catch {
            throw .failed("no thread can be started: \(error)")
        }
    }

    /// Whether the server has told its version.
    private var isGreeted: Bool { state.withLock { $0.extensions != nil } }

    /// Whether the server has answered a request.
    var isProven: Bool { state.withLock { $0.isProven } }

    /// Why the connection has ended; nil while it has not.
    var end: RemoteError? { state.withLock { $0.end } }

    /// Whether the server says that it has an extension; waits until it has told its version.
    func has(_ item: SFTPExtension, _ call: SFTPCall) throws(RemoteError) -> Bool {
        try wait(call) { state in state.extensions?.contains(item.rawValue) }
    }

    /// Ends the connection, once all requests are answered, as nobody uses it any more.
    func release() {
        state.update { $0.isReleased = true }
        process.wake()
    }

    // MARK: Calls

    /// Sends a request; waits while too many are under way.
    func send(_ request: SFTPRequest, _ call: SFTPCall) throws(RemoteError) -> UInt32 {
        let number: UInt32 = try wait(call) { state in
            guard state.extensions != nil, state.requests.count < Self.requestCountMax,
                state.outgoing.count < Self.outgoingByteCountMax
            else { return nil }
            return Self.enqueue(request, &state)
        }
        process.wake()
        return number
    }

    /// Sends a request whose answer does not matter, if that can be done now.
    func post(_ request: SFTPRequest) {
        state.withLock { state in
            guard state.end == nil, state.extensions != nil, state.requests.count < Self.requestCountMax
            else { return }
            state.requests[Self.enqueue(request, &state)]?.isAbandoned = true
        }
        process.wake()
    }

    private static func enqueue(_ request: SFTPRequest, _ state: inout State) -> UInt32 {
        repeat { state.next &+= 1 } while state.requests[state.next] != nil
        if state.requests.isEmpty { state.progress = Clock.monotonic }
        state.requests[state.next] = Request(answerByteCountMax: request.answerByteCountMax)
        state.outgoing += request.packet(state.next)
        return state.next
    }

    /// Closes what was opened in vain.
    private static func close(_ answer: SFTPAnswer, _ state: inout State) {
        guard case .handle(let bytes) = answer else { return }
        state.requests[enqueue(.close(SFTPHandle(bytes: bytes)), &state)]?.isAbandoned = true
    }

    /// Waits for the answer to a request.
    func answer(_ number: UInt32, _ call: SFTPCall) throws(RemoteError) -> SFTPAnswer {
        do throws(RemoteError) {
            return try wait(call) { state in
                guard let answer = state.requests[number]?.answer else { return nil }
                state.requests[number] = nil
                return answer
            }
        } catch {
            abandon(number)
            throw error
        }
    }

    /// Gives up the answer to a request.
    func abandon(_ number: UInt32) {
        state.update { state in
            if let answer = state.requests[number]?.answer {
                state.requests[number] = nil
                Self.close(answer, &state)
            } else {
                state.requests[number]?.isAbandoned = true
            }
        }
    }

    /// Waits until `body` returns a value.
    ///
    /// - Throws: Why the connection has ended; `.cancelled`.
    private func wait<Value>(
        _ call: SFTPCall, for body: (inout State) -> Value?
    ) throws(RemoteError) -> Value {
        while true {
            let result: Result<Value, RemoteError>? = state.wait(nanoseconds: Self.nap) { state in
                if call.isCancelled { return .failure(.cancelled) }
                if let value = body(&state) { return .success(value) }
                return state.end.map { .failure($0) }
            }
            if let result { return try result.get() }
        }
    }

    // MARK: The thread

    private func run() {
        var incoming = SFTPIncoming()
        var messages = ProcessMessages()
        var sending: ArraySlice<UInt8> = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        do throws(SessionEnd) {
            while true {
                if sending.isEmpty { sending = try nextToSend()[...] }
                let ready = try system { () throws(SystemError) in
                    try process.wait(
                        writing: !sending.isEmpty, messages: !messages.isAtEnd, milliseconds: 1000)
                }
                if ready.messages {
                    try system { () throws(SystemError) in try messages.read(from: process) }
                }
                if ready.input {
                    let count = try system { () throws(SystemError) in try process.write(sending) }
                    sending = sending.dropFirst(count)
                }
                if ready.output {
                    let count = try system { () throws(SystemError) in try process.readOutput(into: &chunk) }
                    if count == 0 { throw .processEnded }
                    try take(chunk.prefix(count ?? 0), &incoming)
                }
                try checkProgress()
            }
        } catch {
            finish(error, &messages)
        }
    }

    private enum SessionEnd: Error {
        case processEnded
        case released
        case error(RemoteError)
    }

    private func system<Value>(_ body: () throws(SystemError) -> Value) throws(SessionEnd) -> Value {
        // A pipe that broke: the program has ended.
        do throws(SystemError) { return try body() } catch { throw .processEnded }
    }

    private func nextToSend() throws(SessionEnd) -> [UInt8] {
        let (bytes, isReleased) = state.withLock { state in
            defer { state.outgoing = [] }
            return (state.outgoing, state.isReleased && state.requests.isEmpty)
        }
        if isReleased, bytes.isEmpty { throw .released }
        return bytes
    }

    private func take(_ bytes: ArraySlice<UInt8>, _ incoming: inout SFTPIncoming) throws(SessionEnd) {
        do throws(RemoteError) {
            incoming.add(bytes)
            while let packet = try incoming.next(limit: limit) { try accept(packet) }
        } catch {
            throw .error(error)
        }
    }

    /// The longest packet that may come now; nil if none may come with that number.
    private func limit(_ number: UInt32) -> Int? {
        state.withLock { state in
            guard state.extensions != nil else { return SFTPRequest.longestAnswer }
            guard let request = state.requests[number], request.answer == nil else { return nil }
            return request.answerByteCountMax
        }
    }

    private func accept(_ packet: SFTPIncoming.Packet) throws(RemoteError) {
        do throws(SFTPAnswer.Malformed) {
            if !isGreeted {
                guard packet.type == 2 else { throw SFTPAnswer.Malformed() }
                let extensions = try SFTPAnswer.extensions(packet.bytes)
                return state.update { state in
                    state.extensions = extensions
                    state.progress = Clock.monotonic
                }
            }
            let answer = try SFTPAnswer(packet.type, packet.bytes.dropFirst(4))
            let number = packet.number
            state.update { state in
                state.progress = Clock.monotonic
                state.isProven = true
                if state.requests[number]?.isAbandoned == true {
                    state.requests[number] = nil
                    Self.close(answer, &state)
                } else {
                    state.requests[number]?.answer = answer
                }
            }
        } catch {
            throw .failed("\(server.name) sends what is not SFTP")
        }
    }

    private func checkProgress() throws(SessionEnd) {
        let (wait, isGreeted) = state.withLock { state in
            let isWaiting =
                state.extensions == nil || state.requests.contains { $0.value.answer == nil }
            if !isWaiting { state.progress = Clock.monotonic }
            return (Clock.monotonic - state.progress, state.extensions != nil)
        }
        let patience = isGreeted ? server.patience : SFTPServer.greetingPatience
        guard wait > patience * 1_000_000_000 else { return }
        throw .error(.unreachable("\(server.name) has not answered for \(patience) s"))
    }

    private func finish(_ end: SessionEnd, _ messages: inout ProcessMessages) {
        let reason: RemoteError
        switch end {
        case .error(let error): reason = error
        case .released: reason = .unreachable("the connection to \(server.name) was closed")
        case .processEnded where isGreeted:
            reason = .unreachable("the connection to \(server.name) has ended")
        case .processEnded:
            // The program's last words may come after the end of its output.
            messages.readRest(from: process)
            reason = server.explain(messages.lines)
        }
        if case .released = end {
            // Nothing is under way: it may end by itself.
            process.closeInput()
            for _ in 0..<40 where !process.isEnded {
                _ = try? process.wait(output: false, writing: false, messages: false, milliseconds: 50)
            }
        }
        process.kill()
        state.update { state in
            state.end = state.end ?? reason
            state.outgoing = []
        }
    }
}
