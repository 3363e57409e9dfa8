internal import CofferCrypto
internal import CofferFUSE
internal import CofferFacts
internal import CofferFormat
internal import CofferSync
internal import CofferSystem
internal import CofferTrust
internal import CofferVault
internal import Glibc
internal import Synchronization

/// Performs the requests of commands, in a mount or in the command's own process.
package final class ControlHandler: RequestPerformer {
    let vaults: OpenVaults
    /// The vaults that have a remote.
    let shared: SharedVaults
    /// Where a pairing meets the person's answers.
    let desk = PairingDesk()
    let mountPoint: String?
    /// The device number of the mounted filesystem, as in mountinfo.
    let device = Mutex<String?>(nil)
    /// Ends the mount.
    let end: @Sendable () -> Void
    /// Locks the profile; waits for the process that answers the client.
    let lock: @Sendable (_ force: Bool, RequestClient) throws(ClientError) -> Void
    /// Whether the profile is being locked, or about to be.
    let isLocking: @Sendable () -> Bool
    /// Stands still while a command is performed; nil if nothing depends on it.
    private let idle: IdleTime?
    /// Called with each name that changed in the mount's root.
    let rootChanged: @Sendable (String) -> Void

    /// - Parameters:
    ///   - idle: Learns of commands.
    ///   - end: Ends the mount.
    ///   - isLocking: Whether the profile is being locked, or about to be.
    ///   - lock: Locks the profile.
    init(
        _ vaults: OpenVaults, _ shared: SharedVaults, mountPoint: String?, idle: IdleTime? = nil,
        end: @escaping @Sendable () -> Void = {},
        isLocking: @escaping @Sendable () -> Bool = { false },
        lock: @escaping @Sendable (Bool, RequestClient) throws(ClientError) -> Void = {
            _, _ throws(ClientError) in throw .locking(.notMounted)
        },
        rootChanged: @escaping @Sendable (String) -> Void
    ) {
        self.vaults = vaults
        self.shared = shared
        self.mountPoint = mountPoint
        self.idle = idle
        self.lock = lock
        self.end = end
        self.isLocking = isLocking
        self.rootChanged = rootChanged
    }

    /// Answers a request.
    ///
    /// - Parameters:
    ///   - isHeard: Whether the client still waits for the answer.
    ///   - stream: The stream of an export.
    ///   - progress: Called during long work, on any thread.
    func answer<Request: ControlRequest>(
        _ request: Request, isHeard: @escaping @Sendable () -> Bool = { true }, stream: Int32? = nil,
        progress: @escaping @Sendable (Progress) -> Void
    ) throws(ClientError) -> Request.Answer {
        try perform(request, for: RequestClient(isHeard: isHeard, progress: progress, stream: stream))
    }

    func perform<Request: ControlRequest>(
        _ request: Request, for client: RequestClient
    ) throws(ClientError) -> Request.Answer {
        if vaults.isReadOnly, request.changesVaults { throw .vault(.readOnly) }
        if request.changesVaults, vaults.profile.isMoved {
            throw .profile(.moved(path: vaults.profile.location.path))
        }
        // Status is polled, and an unmount or a lock does not use the vaults.
        let isUse =
            switch request.message {
            case .status, .names, .lock, .lockState, .unlock, .profile: false
            default: true
            }
        guard isUse, let idle else { return try request.perform(by: self, for: client) }
        // As a program's request: after the time, nothing is served until the profile has been locked.
        guard idle.noteUse() else { throw .locking(.underWay) }
        return try idle.spend { () throws(ClientError) in try request.perform(by: self, for: client) }
    }

    func status() -> StatusReport {
        let profile = vaults.profile
        let open = vaults.vaults
        var reports: [VaultReport] = []
        for record in profile.vaults {
            let mounted = open.first { $0.slot == record.slot }
            // Includes data that was just written.
            let unstored = vaults.isReadOnly ? nil : mounted?.vault.store()
            let size = try? mounted?.vault.size()
            let store = try? Directory.allocatedByteCount(profile.directory(of: record))
            reports.append(
                VaultReport(
                    name: record.name, id: record.id.description, created: record.created / 1_000_000_000,
                    epoch: record.keys.map(\.epoch.number).max() ?? 0, isOpen: mounted != nil,
                    items: max(0, (size?.items ?? 0) - 1), contentBytes: size?.content ?? 0,
                    historySeconds: (try? mounted?.vault.history.retention())?.seconds,
                    historyBytes: size?.pastContent ?? 0,
                    snapshots: (try? mounted?.vault.history.snapshots().count) ?? 0, storeBytes: store ?? 0,
                    stopped: mounted?.vault.stoppedReason, unstored: unstored,
                    cacheLimit: profile.use(of: record.id).cacheLimit,
                    pinned: mounted.flatMap { try? pinned($0.vault) },
                    sync: shared[record.slot]?.report(isMounted: mountPoint != nil)))
        }
        if !vaults.isReadOnly { profile.reserve.restore() }
        var disk: DiskReport?
        if let space = try? open.first?.vault.contents.space() {
            disk = DiskReport(
                total: space.total, available: space.available,
                reserve: vaults.isReadOnly ? nil : profile.reserve.byteCount)
        }
        return StatusReport(
            profile: profile.location.path, name: profile.name, device: profile.device,
            mountPoint: isDetached ? nil : mountPoint, detachedFrom: isDetached ? mountPoint : nil,
            vaults: reports,
            joins: profile.joins.map { join in
                AskedJoin(
                    vault: join.name, remote: join.url, role: "\(join.invite.role)",
                    expires: join.invite.expires / 1_000_000_000,
                    delay: shared.joinDelay(of: join.invite.vault)?.description)
            },
            disk: disk,
            problems: problems())
    }

    private func problems() -> [ProblemReport] {
        var problems = vaults.problems.all.map {
            ProblemReport(time: $0.time / 1_000_000_000, text: $0.text)
        }
        if vaults.profile.isMoved {
            let error = ClientError.profile(.moved(path: vaults.profile.location.path))
            problems.append(ProblemReport(time: Clock.realTime / 1_000_000_000, text: "\(error)"))
        }
        return problems
    }

    /// Whether the mount was taken from its place while programs use it.
    private var isDetached: Bool {
        guard let mountPoint else { return false }
        return MountTable.isDetached(mountPoint, device.withLock { $0 })
    }
}

extension Vault {
    /// Commits; returns why the latest changes cannot be stored, or nil.
    fileprivate func store() -> String? {
        do throws(FileSystemError) {
            try commit()
            return nil
        } catch {
            return stoppedReason == nil ? error.summary : nil
        }
    }
}
