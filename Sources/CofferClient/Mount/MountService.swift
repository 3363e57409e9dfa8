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
        /// The time without use after which the profile is locked, in nanoseconds; nil for never.
        package var lockAfter: Int64?
        /// Whether the profile is locked once the machine has slept.
        package var locksOnSleep = false

        fileprivate var idle: IdleTime? {
            if lockAfter == nil, !locksOnSleep { return nil }
            return IdleTime(limit: lockAfter, detectsSleep: locksOnSleep)
        }

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

    /// How long an attempt to lock the profile may take until it sees that the mount ends, in nanoseconds.
    private static let attemptTimeMax: Int64 = 10_000_000_000

    /// How long an orderly end may take, including storing, before the process exits anyway, in nanoseconds.
    ///
    /// Only a bug takes that long.
    private static let lastResort: Int64 = 600_000_000_000

    /// How long the process may then try to store changes before it exits, in nanoseconds.
    private static let lastStore: Int64 = 60_000_000_000

    let vaults: OpenVaults
    let shared: SharedVaults
    let point: MountPoint
    let session: Session
    let server: ControlServer
    let locking: Locking
    let idle: IdleTime?
    private let endsOnSignal: Bool
    private let ending: @Sendable () -> Void
    let ended: Condition<Bool>
    /// Whether the handover of the previous process is used up.
    private let hasTakenOver = Atomic(false)
    /// Nil on an autofs trigger.
    let directory: BareDirectory?
    /// The filesystem's device number, as in mountinfo.
    let device: String?

    /// Mounts the vaults, serves them until the mount ends, and stores everything.
    ///
    /// Blocks until then. A store that fails leaves the reason in the lock's note.
    ///
    /// - Parameters:
    ///   - handover: What the process left that served the mount while the profile was locked; nil for a new mount.
    ///   - serving: Called when the mount answers requests, with the problems until then.
    ///   - ending: Called when a signal asks the mount to end, and again when it is gone and changes are
    ///     being stored.
    ///   - report: Called with each problem as it occurs.
    /// - Returns: What the next process needs to serve the mount while the profile is locked, also if this one could not
    ///   continue the mount; nil if the mount has ended.
    @discardableResult
    package static func run(
        _ profile: Profile, at point: MountPoint, _ options: Options, continuing handover: Handover? = nil,
        environment: (String) -> String?,
        serving: @escaping @Sendable ([String]) -> Void, ending: @escaping @Sendable () -> Void = {},
        report: @escaping @Sendable (String) -> Void
    ) throws(ClientError) -> Handover? {
        coffer_block_signals()
        let problems = ProblemLog { problem in
            DebugLog.log(.warning, .mount, "a problem was recorded; coffer status shows it")
            report(problem)
        }
        let inUse = handover?.inUse ?? .none
        let vaults = OpenVaults(
            profile, problems: problems, isReadOnly: options.isReadOnly, keeping: inUse)
        let next: Handover?
        var service: MountService?
        do throws(ClientError) {
            let made = try MountService(vaults, point, options, handover, environment, ending) {
                DebugLog.log(.info, .mount, "serving \(vaults.vaults.count) vaults")
                serving(vaults.problems.all.map(\.text))
            }
            service = made
            next = try made.serve(answering: handover)
        } catch {
            vaults.close(keeping: inUse)
            let isUsedUp = service?.hasTakenOver.load(ordering: .relaxed) ?? false
            guard let handover, !isUsedUp else { throw error }
            return handover.lockedAgain(because: error)
        }
        let failure = vaults.close(keeping: next?.inUse ?? .none)
        if var next {
            if let failure {
                next.failure = Handover.Failure(.locking(.notClosed(reason: failure)))
                next.isStored = false
            }
            return next
        }
        guard let failure else { return nil }
        // The command that unmounts waits until the lock is free, and reads this note.
        try profile.setLockNote(LockNote(process: getpid(), mountPoint: "", socket: "", failure: failure))
        return nil
    }

    private init(
        _ vaults: OpenVaults, _ point: MountPoint, _ options: Options, _ handover: Handover?,
        _ environment: (String) -> String?,
        _ ending: @escaping @Sendable () -> Void, _ serving: @escaping @Sendable () -> Void
    ) throws(ClientError) {
        self.ending = ending
        endsOnSignal = options.endsOnSignal
        self.vaults = vaults
        self.point = point
        let idle = options.idle
        self.idle = idle
        let session = try systemCalls { () throws(SystemError) in
            try Session(
                root: vaults, keepsAccessTimes: options.keepsAccessTimes, idle: idle, serving: serving)
        }
        self.session = session
        vaults.setSink(session.changes)
        let shared = SharedVaults(
            vaults, limits: options.limits,
            withoutPast: { slot, body throws(ClientError) in try session.withoutPast(of: slot, body) }
        ) { name in
            session.forgetRootEntry(Array(name.utf8))
        }
        self.shared = shared
        let ended = Condition(false)
        self.ended = ended
        let locking = Locking(isAllowed: options.endsOnSignal)
        self.locking = locking
        let end: @Sendable () -> Void = {
            // Whoever waits asks again and again.
            guard locking.beginEndOnce() else { return }
            Self.limitEnd(ended, vaults)
            locking.awaitAttempt(nanoseconds: Self.attemptTimeMax)
            session.end()
        }
        let handler = ControlHandler(
            vaults, shared, mountPoint: point.path, idle: idle, end: end,
            isLocking: { locking.isUnderWay || idle?.isDue ?? false },
            lock: { force, client throws(ClientError) in try locking.lock(force, client) }
        ) { name in
            session.forgetRootEntry(Array(name.utf8))
        }
        let place = try vaults.profile.place()
        if let handover {
            let socket = try systemCalls { () throws(SystemError) in
                try Descriptor.copy(of: handover.socket)
            }
            server = ControlServer(socket, at: handover.socketPath, of: place, handler)
        } else {
            let sockets = try RuntimeDirectory.make(environment)
            server = try systemCalls { () throws(SystemError) in
                try ControlServer(of: place, in: sockets, handler)
            }
        }
        try vaults.profile.setLockNote(
            LockNote(process: getpid(), mountPoint: point.path, socket: server.path))
        if let handover {
            directory = try Self.resume(session, handover, options)
            device = handover.device
            handler.device.withLock { $0 = handover.device }
            return
        }
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

    private func serve(answering handover: Handover?) throws(ClientError) -> Handover? {
        defer { shared.stop() }
        locking.begin { [self] force, client throws(ClientError) in try lock(force, for: client) }
        try systemCalls { () throws(SystemError) in
            try server.start()
            if !vaults.isReadOnly { shared.start() }
            if endsOnSignal { try Thread.startDetached("coffer-signals") { [self] in endOnSignal() } }
            if let idle { try Thread.startDetached("coffer-idle") { [self] in lockWhenDue(idle) } }
            if let handover {
                reportRefused(handover.state.refused)
                try takeOver(handover)
                hasTakenOver.store(true, ordering: .relaxed)
            }
        }
        session.run { [self] in
            if !session.hasLeft {
                directory?.release()
                ending()
                DebugLog.log(.info, .mount, "the mount is gone; storing the last changes")
            }
            // Ends reads that wait for a remote.
            shared.stop()
        }
        ended.update { $0 = true }
        if session.hasLeft {
            server.refuseAll(except: locking.client, .locking(.locked))
            return try systemCalls { () throws(SystemError) in
                try makeHandover()
            }
        }
        server.stop()
        MountRecord.remove(beside: server.path)
        try vaults.profile.setLockNote(LockNote(process: getpid(), mountPoint: "", socket: ""))
        return nil
    }

    /// Waits for SIGTERM, SIGINT or SIGHUP, and unmounts.
    ///
    /// An unused mount ends at once, a used one with its last user or after the grace period. Copies in other
    /// mount namespaces do not delay it further.
    private func endOnSignal() {
        while true {
            let signal = coffer_wait_for_signal()
            DebugLog.log(.info, .mount, "signal \(signal) asks the mount to end")
            guard locking.beginEnd() else {
                // Stays pending until the next process takes it.
                kill(getpid(), signal)
                return
            }
            ending()
            limitEnd()
            // Its thread may have the mount open, or wait for requests.
            locking.awaitAttempt(nanoseconds: Self.attemptTimeMax)
            MountPoint.sync(point.path)
            do throws(SystemError) {
                try MountPoint.detach(point.path, lazily: false)
            } catch {
                try? MountPoint.detach(point.path, lazily: true)
            }
            if ended.wait(nanoseconds: Self.grace, for: { $0 ? true : nil }) == nil {
                // What programs have written since is in the kernel only.
                _ = syncMount()
                session.end()
            }
        }
    }

    /// Makes the process exit if its orderly end takes too long, after one more attempt to store changes.
    func limitEnd() { Self.limitEnd(ended, vaults) }

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
