internal import CCofferSystem
internal import CofferFUSE
internal import CofferSystem
internal import CofferVault
internal import Glibc
internal import Synchronization

/// A mount whose profile is locked: it stays in place, and this process has no keys and no names.
package final class LockedMount: Sendable {
    /// How long programs may keep using the mount after a signal to end it, in nanoseconds.
    private static let grace: Int64 = 3_000_000_000

    private let handover: Handover
    private let session: LockedSession
    private let server: ControlServer
    private let unlocking: Unlocking
    private let lock: FileLock
    private let directory: BareDirectory?
    private let ended = Condition(false)

    /// Serves the mount until it ends, or until the profile is to be unlocked.
    ///
    /// - Parameters:
    ///   - serving: Called when the mount answers requests.
    ///   - ending: Called when a signal asks the mount to end.
    /// - Returns: What the next process needs to serve the vaults; nil if the mount has ended.
    package static func run(
        _ handover: Handover, _ location: ProfileLocation, serving: () -> Void,
        ending: @escaping @Sendable () -> Void
    ) throws(ClientError) -> Handover? {
        coffer_block_signals()
        return try LockedMount(handover, location).serve(serving, ending)
    }

    private init(_ handover: Handover, _ location: ProfileLocation) throws(ClientError) {
        self.handover = handover
        let place = try ProfilePlace(of: location)
        let session = try systemCalls { () throws(SystemError) in
            try LockedSession(
                Descriptor.copy(of: handover.connection), handover.state,
                owner: (Caller.current.user, Caller.current.group),
                changed: handover.locked, isStored: handover.isStored)
        }
        self.session = session
        let unlocking = Unlocking { session.leave() }
        self.unlocking = unlocking
        let socket = try systemCalls { () throws(SystemError) in
            try Descriptor.copy(of: handover.socket)
        }
        server = ControlServer(
            socket, at: handover.socketPath, of: place,
            LockedHandler(
                location, handover.mountPoint, device: handover.device, since: handover.locked,
                // A command that waits is told.
                problem: handover.client == nil ? handover.failure?.text : nil,
                refusedCount: { session.refusedCount }, unlocking))
        lock = FileLock(
            owning: try systemCalls { () throws(SystemError) in
                try Descriptor.copy(of: handover.lock)
            })
        directory =
            if let number = handover.directory {
                BareDirectory(
                    owning: try systemCalls { () throws(SystemError) in
                        try Descriptor.copy(of: number)
                    })
            } else { nil }
    }

    private func serve(_ serving: () -> Void, _ ending: @escaping @Sendable () -> Void) throws(ClientError)
        -> Handover?
    {
        try systemCalls { () throws(SystemError) in
            try server.start()
            try Thread.startDetached("coffer-signals") { [self] in endOnSignal(ending) }
        }
        // The note of a process that could not open the profile names no mount.
        try setNote(handover.mountPoint, handover.socketPath)
        DebugLog.log(.info, .mount, "the profile is locked")
        serving()
        var next = handover
        next.answerClient()
        if case .left = session.run(), let way = unlocking.way {
            next.state = session.state
            // Items without a name that programs have closed meanwhile may go.
            next.inUse = handover.inUse.remaining(next.state.nodes)
            (next.key, next.client, next.failure) = (way.key, way.client, way.failure)
            return next
        }
        directory?.release()
        ended.update { $0 = true }
        server.stop()
        MountRecord.remove(beside: handover.socketPath)
        try setNote("", "")
        return nil
    }

    private func setNote(_ mountPoint: String, _ socket: String) throws(ClientError) {
        let note = LockNote(process: getpid(), mountPoint: mountPoint, socket: socket)
        try systemCalls { () throws(SystemError) in try lock.setNote(note.text) }
    }

    /// Waits for SIGTERM, SIGINT or SIGHUP, and unmounts as a mount with keys does; there is nothing to store.
    private func endOnSignal(_ ending: @Sendable () -> Void) {
        while true {
            let signal = coffer_wait_for_signal()
            DebugLog.log(.info, .mount, "signal \(signal) asks the locked mount to end")
            guard unlocking.beginEnd() else {
                // Stays pending until the next process takes it.
                kill(getpid(), signal)
                return
            }
            ending()
            do throws(SystemError) {
                try MountPoint.detach(handover.mountPoint, lazily: false)
            } catch {
                try? MountPoint.detach(handover.mountPoint, lazily: true)
            }
            if ended.wait(nanoseconds: Self.grace, for: { $0 ? true : nil }) == nil { unlocking.end() }
        }
    }
}
