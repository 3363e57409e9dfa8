internal import CofferFUSE
internal import CofferFormat
internal import CofferVault

// Requests about states of vaults that have a name.
extension ControlHandler {
    func addSnapshot(_ name: String, of vault: String) throws(ClientError) -> SnapshotReport {
        let mounted = try vaults.named(vault)
        guard let checked = SnapshotName(name) else { throw .content(.invalidSnapshotName(name)) }
        do throws(FileSystemError) {
            // What cannot be stored is among the problems of the mount.
            try mounted.vault.flushAll()
            try mounted.vault.history.addSnapshot(checked)
        } catch {
            switch error {
            case .alreadyExists: throw .content(.snapshotExists(name: name, vault: mounted.name))
            case .notSupported: throw .content(.noHistory(vault: mounted.name))
            default: throw .vault(error)
            }
        }
        return try snapshot(name, of: mounted)
    }

    func removeSnapshot(_ name: String, of vault: String) throws(ClientError) -> SnapshotReport {
        let mounted = try vaults.named(vault)
        let report = try snapshot(name, of: mounted)
        do throws(FileSystemError) {
            try mounted.vault.history.removeSnapshot(Array(name.utf8))
        } catch {
            guard case .notFound = error else { throw .vault(error) }
            throw .content(.noSuchSnapshot(name: name, vault: mounted.name))
        }
        return report
    }

    /// The snapshots of one vault, or of all, in the order in which they were made.
    func snapshots(of name: String?) throws(ClientError) -> [SnapshotReport] {
        if let name { return try snapshots(of: try vaults.named(name)) }
        var reports: [SnapshotReport] = []
        for mounted in vaults.vaults { reports += try snapshots(of: mounted) }
        return reports
    }

    private func snapshots(of mounted: MountedVault) throws(ClientError) -> [SnapshotReport] {
        do throws(FileSystemError) {
            return try mounted.vault.history.snapshots().map { SnapshotReport($0, of: mounted.name) }
        } catch {
            throw .vault(error)
        }
    }

    private func snapshot(_ name: String, of mounted: MountedVault) throws(ClientError) -> SnapshotReport {
        guard let report = try snapshots(of: mounted).first(where: { $0.name.hasSameBytes(as: name) }) else {
            throw .content(.noSuchSnapshot(name: name, vault: mounted.name))
        }
        return report
    }
}

extension SnapshotReport {
    fileprivate init(_ snapshot: History.Snapshot, of vault: String) {
        let (second, until) = (Int64(1_000_000_000), snapshot.state?.until ?? .max)
        self.init(
            vault: vault, name: snapshot.name, created: snapshot.made / second,
            since: snapshot.state.map { $0.since / second }, until: until == .max ? nil : until / second)
    }
}
