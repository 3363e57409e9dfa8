internal import CofferSystem
internal import Glibc

/// The way of a mount to another process, for one command at a time.
final class Locking: Sendable {
    typealias Lock = @Sendable (_ force: Bool, _ client: Int32?) throws(ClientError) -> Void

    private struct State {
        var lock: Lock?
        var isUnderWay = false
        /// Whether what cannot be stored is given up.
        var isForced = false
        /// Whether the attempt under way takes too long.
        var isGivenUp = false
        var client: Int32?
        /// The number of files of which changes are lost.
        var losses = 0
        /// Whether the mount is to end, or to be left to the next process; whichever came first.
        var isEnding = false, isLeaving = false
    }

    private let isAllowed: Bool
    private let state = Condition(State())

    /// - Parameter isAllowed: Whether the mount has a process of its own, which can be replaced.
    init(isAllowed: Bool) {
        self.isAllowed = isAllowed
    }

    /// Sets what locks the profile, once the mount serves.
    func begin(_ lock: @escaping Lock) { state.withLock { $0.lock = lock } }

    /// The connection of the client that waits until the profile is locked; nil if there is none.
    var client: Int32? { state.withLock { $0.client } }

    /// Locks the profile; for a client, returns only if that fails.
    ///
    /// - Throws: `.notPossible`, `.underWay`, and why the profile stays unlocked.
    func lock(_ force: Bool, _ client: RequestClient?) throws(ClientError) {
        guard isAllowed else { throw .locking(.notPossible) }
        let lock: Lock? = state.withLock { state in
            guard !state.isUnderWay, !state.isEnding, let lock = state.lock else { return nil }
            state.isUnderWay = true
            (state.isForced, state.isGivenUp) = (force, false)
            state.client = client?.connection
            return lock
        }
        guard let lock else { throw .locking(.underWay) }
        do throws(ClientError) {
            try lock(force, client?.connection)
        } catch {
            state.update { state in
                state.isUnderWay = false
                state.client = nil
            }
            throw error
        }
        // The connection must stay open. This process is about to be replaced.
        while client != nil { pause() }
    }

    /// Whether the profile is being locked; not if its thread is left over from an attempt that was given up.
    var isUnderWay: Bool { state.withLock { $0.isUnderWay && !$0.isGivenUp } }

    /// Whether the mount is to end.
    var isEnding: Bool { state.withLock { $0.isEnding } }

    /// Whether the latest attempt took too long.
    var isGivenUp: Bool { state.withLock { $0.isGivenUp } }

    /// Whether the attempt under way still counts: it is neither given up, nor does the mount end.
    var mayGoOn: Bool { state.withLock { !$0.isGivenUp && !$0.isEnding } }

    /// Ends an attempt that does not count any more, so that its thread, which was left waiting, does no harm.
    ///
    /// - Throws: `.underWay` if the mount is to end; `.inUse` if locking was given up.
    func check() throws(ClientError) {
        let (isEnding, isGivenUp) = state.withLock { ($0.isEnding, $0.isGivenUp) }
        if isEnding { throw .locking(.underWay) }
        if isGivenUp { throw .locking(.inUse) }
    }

    /// Waits for the end of an attempt that `beginEnd` ends.
    ///
    /// Its thread may wait for requests, which must be answered until then.
    func awaitAttempt(nanoseconds: Int64) {
        _ = state.wait(nanoseconds: nanoseconds) { $0.isUnderWay ? nil : true }
    }

    /// Decides that the next process serves the mount; there is no way back.
    ///
    /// - Throws: `.underWay` if the mount is to end; `.inUse` if locking was given up.
    func beginLeaving() throws(ClientError) {
        let (isFirst, isGivenUp) = state.withLock { state in
            if !state.isEnding, !state.isGivenUp { state.isLeaving = true }
            return (state.isLeaving, state.isGivenUp)
        }
        guard isFirst else { throw .locking(isGivenUp ? .inUse : .underWay) }
    }

    /// Decides that an attempt fails, although its thread waits for something.
    ///
    /// - Returns: False if the next process serves the mount already.
    func giveUp() -> Bool {
        state.withLock { state in
            if !state.isLeaving { state.isGivenUp = true }
            return state.isGivenUp
        }
    }

    /// Notes that changes of files are lost, so that whoever locks the profile learns it.
    func noteLosses(_ count: Int) { state.withLock { $0.losses += count } }

    /// What the command learns although the profile is locked; nil if all went well.
    var failure: ClientError? {
        state.withLock { state in
            state.losses > 0 && !state.isForced ? .locking(.lost(files: state.losses)) : nil
        }
    }

    /// Whether all was stored, as far as it is known, so that fsync may succeed while the profile is locked.
    var hasStored: Bool { state.withLock { $0.losses == 0 && !$0.isForced } }

    /// Decides that the mount ends.
    ///
    /// - Returns: False if the next process serves it, and has to end it.
    func beginEnd() -> Bool {
        state.withLock { state in
            if !state.isLeaving { state.isEnding = true }
            return state.isEnding
        }
    }

    /// Decides that the mount ends, like `beginEnd`, for a caller that ends it only once.
    ///
    /// - Returns: Also false if that was decided before.
    func beginEndOnce() -> Bool {
        state.withLock { state in
            guard !state.isLeaving, !state.isEnding else { return false }
            state.isEnding = true
            return true
        }
    }
}
