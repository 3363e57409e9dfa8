internal import CofferCrypto
internal import CofferSystem
internal import Glibc
internal import Synchronization

/// Performs the requests of commands while the profile is locked: without keys, it can tell only that.
struct LockedHandler: RequestPerformer {
    private let location: ProfileLocation
    private let mountPoint: String
    private let device: String?
    private let since: Int64
    private let problem: String?
    private let refusedCount: @Sendable () -> Int
    private let unlocking: Unlocking

    /// - Parameters:
    ///   - device: The device number of the mounted filesystem; nil if it is not known.
    ///   - since: When the profile was locked, in nanoseconds since 1970.
    ///   - problem: What went wrong when the profile locked itself; nil if all went well.
    ///   - refusedCount: Asked for the number of files of which the mount has refused changes since.
    init(
        _ location: ProfileLocation, _ mountPoint: String, device: String? = nil, since: Int64,
        problem: String? = nil, refusedCount: @escaping @Sendable () -> Int = { 0 }, _ unlocking: Unlocking
    ) {
        self.refusedCount = refusedCount
        self.device = device
        self.problem = problem
        self.location = location
        self.mountPoint = mountPoint
        self.since = since
        self.unlocking = unlocking
    }

    func perform<Request: ControlRequest>(
        _ request: Request, for client: RequestClient
    ) throws(ClientError) -> Request.Answer {
        let answer: any Sendable =
            switch request.message {
            case .status: status
            case .lockState: try lockState
            case .lock: Done()
            case .unlock(let request): try unlocking.begin(request, for: client)
            // Everything was stored when the profile was locked.
            case .profile(.store): Done()
            case .profile(.end(let process)): end(process)
            default: throw .locking(.locked)
            }
        guard let answer = answer as? Request.Answer else { throw .locking(.locked) }
        return answer
    }

    private var status: StatusReport {
        let isDetached = MountTable.isDetached(mountPoint, device)
        return StatusReport(
            profile: location.path, name: "", device: "", mountPoint: isDetached ? nil : mountPoint,
            detachedFrom: isDetached ? mountPoint : nil, vaults: [], joins: [], disk: nil,
            problems: problems.map { ProblemReport(time: since / 1_000_000_000, text: $0) },
            locked: since / 1_000_000_000)
    }

    private var problems: [String] {
        let count = refusedCount()
        let late =
            count == 0
            ? nil
            : """
            Changes of files (\(count)) came too late to be stored before the lock, and are lost. After the unlock, \
            “coffer status” shows their names.
            """
        return [problem, late].compactMap { $0 }
    }

    /// Before the passphrase is asked for, and the key is sent.
    private var lockState: LockState {
        get throws(ClientError) {
            guard ChildProcess.canStartAgain else { throw .locking(.replaced) }
            return LockState(isLocked: true)
        }
    }

    private func end(_ process: Int32) -> Done {
        if process == getpid() { unlocking.end() }
        return Done()
    }
}

/// The way out of a locked mount: towards a process with keys, or to its end.
final class Unlocking: Sendable {
    private static let keyByteCount = 32

    /// What the next process gets: the descriptors of the pipe with the key, and of the client; or why there is no key.
    struct Way: Sendable {
        var key: Int32?
        var client: Int32?
        var failure: Handover.Failure?
    }

    private struct State {
        var way: Way?
        /// Whether the mount is to be unlocked, or to end; whichever came first.
        var isUnlocking = false, isEnding = false
    }

    private let state = Mutex(State())
    private let leave: @Sendable () -> Void

    /// - Parameter leave: Makes the session return.
    init(leave: @escaping @Sendable () -> Void) {
        self.leave = leave
    }

    /// Passes the key on to the next process, which answers the client.
    ///
    /// Does not return: this process, which has seen the key, is replaced, by a locked one if anything fails.
    ///
    /// - Throws: `.underWay`, if another command came first.
    func begin(_ request: UnlockRequest, for client: RequestClient) throws(ClientError) -> Never {
        let isFirst = state.withLock { state in
            guard !state.isUnlocking, !state.isEnding else { return false }
            state.isUnlocking = true
            return true
        }
        guard isFirst else { throw .locking(.underWay) }
        var way = Way()
        do throws(ClientError) {
            way.client = try client.connection.map { number throws(ClientError) in
                try systemCalls { () throws(SystemError) in try Descriptor.copy(of: number).release() }
            }
            guard request.key.count == Self.keyByteCount else { throw .control(.malformed) }
            way.key = try systemCalls { () throws(SystemError) in
                var bytes = request.key
                return try KeyPipe.make(SecretBytes(moving: &bytes)).release()
            }
        } catch {
            way.failure = Handover.Failure(error)
        }
        state.withLock { $0.way = way }
        leave()
        while true { pause() }
    }

    /// Decides that the mount ends.
    ///
    /// - Returns: False if the next process serves it, and has to end it.
    func beginEnd() -> Bool {
        state.withLock { state in
            if !state.isUnlocking { state.isEnding = true }
            return state.isEnding
        }
    }

    /// Ends the mount at once, even if programs use it.
    func end() {
        if beginEnd() { leave() }
    }

    /// What the next process gets; nil if the mount is to end.
    var way: Way? { state.withLock { $0.way } }
}
