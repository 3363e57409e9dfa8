internal import CCofferSystem
internal import CofferFUSE
internal import CofferSystem
internal import CofferVault
internal import Glibc

/// A running mount: all vaults of a profile served below one directory, until it is unmounted.
package final class MountService: Sendable {
    /// How to mount.
    package struct Options: Sendable {
        /// For the kernel and libfuse.
        package var mount: [String]
        /// Whether nothing may be changed through the mount.
        package var isReadOnly: Bool
        /// Whether reading leaves times of access alone.
        package var keepsAccessTimes: Bool
        /// Whether the bare mount point is made unwritable.
        package var protects: Bool
        /// Whether SIGTERM, SIGINT and SIGHUP end the mount; else somebody else has to wait for them.
        package var endsOnSignal = true

        package init(mount: [String], isReadOnly: Bool, keepsAccessTimes: Bool, protects: Bool) {
            self.mount = mount
            self.isReadOnly = isReadOnly
            self.keepsAccessTimes = keepsAccessTimes
            self.protects = protects
        }
    }

    /// How long programs have to let go of a mount that was told to end, in nanoseconds.
    private static let grace: Int64 = 3_000_000_000

    /// How long the end that a signal or a command asked for may take, storing included, before the process ends itself, in
    /// nanoseconds: only a mistake of ours takes that long.
    private static let lastResort: Int64 = 600_000_000_000

    /// How long that process may then take to store what it can, in nanoseconds.
    private static let lastStore: Int64 = 60_000_000_000

    private let vaults: OpenVaults
    private let shared: SharedVaults
    private let point: MountPoint
    private let session: Session
    private let server: ControlServer
    private let endsOnSignal: Bool
    private let ending: @Sendable () -> Void
    private let ended: Condition<Bool>
    /// Nil where an automount waits.
    private let directory: BareDirectory?
    /// The file system, as mountinfo names it.
    private let device: String?

    /// Mounts and serves until the mount is gone; then everything is stored.
    ///
    /// - Parameters:
    ///   - serving: Called when the mount answers requests, with what went wrong until then.
    ///   - ending: Called when the mount was told to end, and again when it is gone and all is being stored.
    ///   - report: Told of each problem, at once.
    package static func run(
        _ profile: Profile, at point: MountPoint, _ options: Options, environment: (String) -> String?,
        serving: @escaping @Sendable ([String]) -> Void, ending: @escaping @Sendable () -> Void = {},
        report: @escaping @Sendable (String) -> Void
    ) throws(ProfileError) {
        coffer_block_signals()
        let vaults = OpenVaults(profile, problems: ProblemLog(report: report), isReadOnly: options.isReadOnly)
        do throws(ProfileError) {
            let service = try MountService(vaults, point, options, environment, ending) {
                serving(vaults.problems.all.map(\.text))
            }
            try service.serve()
        } catch {
            vaults.close()
            throw error
        }
        // For the command that unmounts, which waits until the lock is free.
        guard let failure = vaults.close() else { return }
        try profile.setLockNote(LockNote(process: getpid(), mountPoint: "", socket: "", failure: failure))
    }

    private init(
        _ vaults: OpenVaults, _ point: MountPoint, _ options: Options, _ environment: (String) -> String?,
        _ ending: @escaping @Sendable () -> Void, _ serving: @escaping @Sendable () -> Void
    ) throws(ProfileError) {
        self.ending = ending
        endsOnSignal = options.endsOnSignal
        self.vaults = vaults
        self.point = point
        let session = try systemCalls { () throws(SystemError) in
            try Session(root: vaults, keepsAccessTimes: options.keepsAccessTimes, serving: serving)
        }
        self.session = session
        vaults.setSink(session.changes)
        let shared = SharedVaults(vaults) { name in session.forgetRootEntry(Array(name.utf8)) }
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
        // Where an automount waits, nobody gets at the directory below.
        let directory: BareDirectory? =
            point.isAutomount
            ? nil : try systemCalls { () throws(SystemError) in try BareDirectory(point.path) }
        self.directory = directory
        directory?.open()
        do throws(SystemError) {
            try session.mount(at: point.path, options: options.mount)
        } catch {
            server.stop()
            throw .noFUSE(error)
        }
        device = (try? MountPoint.mount(of: point.path))?.device
        if options.protects { directory?.protect() }
    }

    private func serve() throws(ProfileError) {
        defer { shared.stop() }
        try systemCalls { () throws(SystemError) in
            try server.start()
            if !vaults.isReadOnly { shared.start() }
            if endsOnSignal { try Thread.startDetached("coffer-signals") { [self] in endOnSignal() } }
        }
        session.run { [self] in
            directory?.release()
            ending()
            // Whoever reads what is at a remote waits for that no longer.
            shared.stop()
        }
        ended.update { $0 = true }
        server.stop()
        try vaults.profile.setLockNote(LockNote(process: getpid(), mountPoint: "", socket: ""))
    }

    /// Waits for SIGTERM and its like, and unmounts.
    ///
    /// At once if nobody uses the mount, else as soon as those who do let go, or the grace is over. Copies in other
    /// mount namespaces do not keep it longer.
    private func endOnSignal() {
        while true {
            _ = coffer_wait_for_signal()
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

    /// Ends the process if its own end takes too long; what can be stored in some time is stored then.
    private static func limitEnd(_ ended: Condition<Bool>, _ vaults: OpenVaults) {
        try? Thread.startDetached("coffer-end") {
            let hasEnded = ended.wait(nanoseconds: lastResort) { $0 ? true : nil }
            if hasEnded != nil { return }
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
