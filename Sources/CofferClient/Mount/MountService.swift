internal import CCofferSystem
internal import CofferFUSE
internal import CofferRemote
internal import CofferSystem
internal import CofferVault
internal import Glibc
internal import Synchronization

/// A running mount, which serves all vaults of a profile below one directory until it is unmounted.
package final class MountService: Sendable {
    /// The options of a mount.
    package struct Options: Sendable {
        /// Options for the kernel and libfuse.
        package var mount: [String]
        /// Whether the mount is read-only.
        package var isReadOnly: Bool
        /// Whether reading does not update access times.
        package var keepsAccessTimes: Bool
        /// Whether to make the bare mount point unwritable.
        package var protects: Bool
        /// Whether SIGTERM, SIGINT and SIGHUP end the mount; if not, the caller must handle them.
        package var endsOnSignal = true
        /// Bytes per second that all remotes together may send and receive; nil for no limit.
        package var sending: Int?, receiving: Int?

        fileprivate var limits: TransferLimits? {
            if sending == nil, receiving == nil { return nil }
            return TransferLimits(sending: sending, receiving: receiving)
        }

        package init(mount: [String], isReadOnly: Bool, keepsAccessTimes: Bool, protects: Bool) {
            self.mount = mount
            self.isReadOnly = isReadOnly
            self.keepsAccessTimes = keepsAccessTimes
            self.protects = protects
        }
    }

    /// How long programs may keep using a mount after a signal to end it, in nanoseconds.
    private static let grace: Int64 = 3_000_000_000

    /// How long an orderly end may take, including storing, before the process exits anyway, in nanoseconds.
    ///
    /// Only a bug takes that long.
    private static let lastResort: Int64 = 600_000_000_000

    /// How long the process may then try to store changes before it exits, in nanoseconds.
    private static let lastStore: Int64 = 60_000_000_000

    private let vaults: OpenVaults
    private let shared: SharedVaults
    private let point: MountPoint
    private let session: Session
    private let server: ControlServer
    private let endsOnSignal: Bool
    private let ending: @Sendable () -> Void
    private let ended: Condition<Bool>
    /// Nil on an autofs trigger.
    private let directory: BareDirectory?
    /// The filesystem's device number, as in mountinfo.
    private let device: String?

    /// Mounts the vaults, serves them until the mount ends, and stores everything.
    ///
    /// Blocks until then. A store that fails leaves the reason in the lock's note.
    ///
    /// - Parameters:
    ///   - serving: Called when the mount answers requests, with the problems until then.
    ///   - ending: Called when a signal asks the mount to end, and again when it is gone and changes are
    ///     being stored.
    ///   - report: Called with each problem as it occurs.
    package static func run(
        _ profile: Profile, at point: MountPoint, _ options: Options, environment: (String) -> String?,
        serving: @escaping @Sendable ([String]) -> Void, ending: @escaping @Sendable () -> Void = {},
        report: @escaping @Sendable (String) -> Void
    ) throws(ClientError) {
        coffer_block_signals()
        let problems = ProblemLog { problem in
            DebugLog.log(.warning, .mount, "a problem was recorded; coffer status shows it")
            report(problem)
        }
        let vaults = OpenVaults(profile, problems: problems, isReadOnly: options.isReadOnly)
        do throws(ClientError) {
            let service = try MountService(vaults, point, options, environment, ending) {
                DebugLog.log(.info, .mount, "serving \(vaults.vaults.count) vaults")
                serving(vaults.problems.all.map(\.text))
            }
            try service.serve()
        } catch {
            vaults.close()
            throw error
        }
        // The command that unmounts waits until the lock is free, and reads this note.
        guard let failure = vaults.close() else { return }
        try profile.setLockNote(LockNote(process: getpid(), mountPoint: "", socket: "", failure: failure))
    }

    private init(
        _ vaults: OpenVaults, _ point: MountPoint, _ options: Options, _ environment: (String) -> String?,
        _ ending: @escaping @Sendable () -> Void, _ serving: @escaping @Sendable () -> Void
    ) throws(ClientError) {
        self.ending = ending
        endsOnSignal = options.endsOnSignal
        self.vaults = vaults
        self.point = point
        let session = try systemCalls { () throws(SystemError) in
            try Session(root: vaults, keepsAccessTimes: options.keepsAccessTimes, serving: serving)
        }
        self.session = session
        vaults.setSink(session.changes)
        let shared = SharedVaults(vaults, limits: options.limits) { name in
            session.forgetRootEntry(Array(name.utf8))
        }
        self.shared = shared
        let ended = Condition(false)
        self.ended = ended
        let end: @Sendable () -> Void = {
            Self.limitEnd(ended, vaults)
            session.end()
        }
        let handler = ControlHandler(vaults, shared, mountPoint: point.path, end: end) { name in
            session.forgetRootEntry(Array(name.utf8))
        }
        let (place, sockets) = (try vaults.profile.place(), try RuntimeDirectory.make(environment))
        server = try systemCalls { () throws(SystemError) in
            try ControlServer(of: place, in: sockets, handler)
        }
        try vaults.profile.setLockNote(
            LockNote(process: getpid(), mountPoint: point.path, socket: server.path))
        // The directory under an autofs trigger cannot be reached.
        let directory: BareDirectory? =
            point.isAutomount
            ? nil : try systemCalls { () throws(SystemError) in try BareDirectory(point.path) }
        self.directory = directory
        directory?.open()
        do throws(SystemError) {
            try session.mount(at: point.path, options: options.mount)
        } catch {
            server.stop()
            throw .mount(.noFUSE(error))
        }
        device = (try? MountPoint.mount(of: point.path))?.device
        handler.device.withLock { [device] in $0 = device }
        MountRecord(
            process: getpid(), profile: vaults.profile.location.path, mountPoint: point.path,
            socket: server.path, device: device
        ).write()
        if options.protects { directory?.protect() }
    }

    private func serve() throws(ClientError) {
        defer { shared.stop() }
        try systemCalls { () throws(SystemError) in
            try server.start()
            if !vaults.isReadOnly { shared.start() }
            if endsOnSignal { try Thread.startDetached("coffer-signals") { [self] in endOnSignal() } }
        }
        session.run { [self] in
            directory?.release()
            ending()
            DebugLog.log(.info, .mount, "the mount is gone; storing the last changes")
            // Ends reads that wait for a remote.
            shared.stop()
        }
        ended.update { $0 = true }
        server.stop()
        MountRecord.remove(beside: server.path)
        try vaults.profile.setLockNote(LockNote(process: getpid(), mountPoint: "", socket: ""))
    }

    /// Waits for SIGTERM, SIGINT or SIGHUP, and unmounts.
    ///
    /// An unused mount ends at once, a used one with its last user or after the grace period. Copies in other
    /// mount namespaces do not delay it further.
    private func endOnSignal() {
        while true {
            let signal = coffer_wait_for_signal()
            DebugLog.log(.info, .mount, "signal \(signal) asks the mount to end")
            ending()
            Self.limitEnd(ended, vaults)
            MountPoint.sync(point.path)
            do throws(SystemError) {
                try MountPoint.detach(point.path, lazily: false)
            } catch {
                try? MountPoint.detach(point.path, lazily: true)
            }
            if ended.wait(nanoseconds: Self.grace, for: { $0 ? true : nil }) == nil {
                if let device { MountCopies(of: device).sync() }
                session.end()
            }
        }
    }

    /// Makes the process exit if its orderly end takes too long, after one more attempt to store changes.
    private static func limitEnd(_ ended: Condition<Bool>, _ vaults: OpenVaults) {
        try? Thread.startDetached("coffer-end") {
            let hasEnded = ended.wait(nanoseconds: lastResort) { $0 ? true : nil }
            if hasEnded != nil { return }
            DebugLog.log(.error, .mount, "the end takes too long; the process exits after one more attempt")
            let isStored = Condition(false)
            let storing: Void? = try? Thread.startDetached("coffer-store") {
                try? vaults.store(usingReserve: true)
                isStored.update { $0 = true }
            }
            if storing != nil { _ = isStored.wait(nanoseconds: lastStore) { $0 ? true : nil } }
            _exit(EX_SOFTWARE)
        }
    }
}
