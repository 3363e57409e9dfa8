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
    /// Runs something while no program looks at the past of the vault in a slot.
    let withoutPast: @Sendable (UInt16, () throws(ClientError) -> Void) throws(ClientError) -> Void

    /// - Parameters:
    ///   - idle: Learns of commands.
    ///   - end: Ends the mount.
    ///   - isLocking: Whether the profile is being locked, or about to be.
    ///   - lock: Locks the profile.
    ///   - withoutPast: Runs something while no program looks at the past of the vault in a slot.
    init(
        _ vaults: OpenVaults, _ shared: SharedVaults, mountPoint: String?, idle: IdleTime? = nil,
        end: @escaping @Sendable () -> Void = {},
        isLocking: @escaping @Sendable () -> Bool = { false },
        lock: @escaping @Sendable (Bool, RequestClient) throws(ClientError) -> Void = {
            _, _ throws(ClientError) in throw .locking(.notMounted)
        },
        withoutPast:
            @escaping @Sendable (UInt16, () throws(ClientError) -> Void) throws(ClientError) -> Void =
            { _, body throws(ClientError) in try body() },
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
        self.withoutPast = withoutPast
    }

    /// Answers a request.
    ///
    /// - Parameters:
    ///   - isHeard: Whether the client still waits for the answer.
    ///   - progress: Called during long work, on any thread.
    func answer<Request: ControlRequest>(
        _ request: Request, isHeard: @escaping @Sendable () -> Bool = { true },
        progress: @escaping @Sendable (Progress) -> Void
    ) throws(ClientError) -> Request.Answer {
        try perform(request, for: RequestClient(isHeard: isHeard, progress: progress))
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

    func check(
        _ name: String?, _ progress: @escaping @Sendable (Progress) -> Void
    ) throws(ClientError) -> CheckReport {
        let records = vaults.profile.vaults.filter { name == nil || $0.name.hasSameBytes(as: name ?? "") }
        if records.isEmpty, let name { throw .vaultName(.noSuchVault(name: name)) }
        var checks: [VaultCheck] = []
        for record in records {
            guard let mounted = vaults.vault(slot: record.slot) else {
                let text = "The vault cannot be opened."
                let damage = VaultCheck.Damage(path: nil, from: nil, to: nil, text: text)
                checks.append(
                    VaultCheck(
                        vault: record.name, items: 0, blocks: 0, bytes: 0, isCompared: nil, damage: [damage],
                        unchecked: []))
                continue
            }
            checks.append(mounted.check(keys: record.keys, progress))
        }
        return CheckReport(vaults: checks)
    }
}

extension MountedVault {
    /// Checks the vault; reports failures as unchecked parts.
    fileprivate func check(
        keys: [EpochKey], _ progress: @escaping @Sendable (Progress) -> Void
    ) -> VaultCheck {
        var result = Vault.CheckResult()
        var differences: [String]?
        do throws(FileSystemError) {
            result = try vault.check { progress(Progress(done: $0, total: $1, isBytes: true)) }
        } catch {
            result.unchecked.append("The vault cannot be checked: \(error.summary).")
        }
        do throws(FileSystemError) {
            differences = try vault.differences(keys: keys)
        } catch {
            result.unchecked.append("Items and names cannot be compared with commits: \(error.summary).")
        }
        let damage = result.damage.map {
            VaultCheck.Damage(
                path: $0.path, from: $0.range?.lowerBound, to: $0.range?.upperBound, text: $0.text)
        }
        return VaultCheck(
            vault: name, items: result.items, blocks: result.blocks, bytes: result.bytes,
            isCompared: vault.isTracking ? differences != nil : nil,
            damage: damage
                + (differences ?? []).map { VaultCheck.Damage(path: nil, from: nil, to: nil, text: $0) },
            unchecked: result.unchecked)
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

    /// Compares the items of a vault that has, or had, a remote with its commits.
    ///
    /// - Returns: The differences as text; nil if they cannot be compared.
    fileprivate func differences(keys: [EpochKey]) throws(FileSystemError) -> [String]? {
        guard let first = keys.first(where: { $0.epoch == .first }) else { return nil }
        do throws(FileSystemError) {
            return try facts.comparisonWithFacts(StateHashKey(first.subkey(StateHashRole.self)))
        } catch {
            guard case .damaged = error else { throw error }
            return ["The facts of the commits cannot be read: \(error.summary)."]
        }
    }
}
