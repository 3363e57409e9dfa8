internal import CofferFUSE
internal import CofferFormat
internal import CofferVault

// Requests about the past of vaults.
extension ControlHandler {
    private static let second: Int64 = 1_000_000_000

    func keepHistory(of name: String, _ seconds: Int64?) throws(ClientError) {
        let mounted = try vaults.named(name)
        let retention: History.Retention = seconds.map { $0 > 0 ? .seconds($0) : .none } ?? .forever
        if retention == .none {
            let snapshots = try self.snapshots(of: name).map(\.name)
            if !snapshots.isEmpty {
                throw .content(.snapshotsLeft(names: snapshots, vault: mounted.name))
            }
        }
        try shared.keepHistory(of: mounted, retention)
    }

    /// Deletes a vault on this device, of whose past programs get nothing more.
    func deleteVault(_ name: String) throws(ClientError) {
        // One that could not be opened can be deleted, too.
        guard let mounted = try? vaults.named(name) else { return try shared.delete(name) }
        try shared.withoutPast(mounted.slot) { () throws(ClientError) in try shared.delete(name) }
    }

    func history(
        of path: String, in name: String, _ client: RequestClient
    ) throws(ClientError) -> HistoryReport {
        let mounted = try vaults.named(name)
        let present = try view(of: name)
        defer { present.close() }
        let names = try authorNames(of: mounted)
        do throws(FileSystemError) {
            let past = try mounted.vault.history.states()
            if path.isEmpty {
                let authors = try mounted.vault.history.authors()
                let snapshots = Dictionary(
                    grouping: try mounted.vault.history.snapshots(), by: \.state?.number
                ).mapValues { $0.map(\.name) }
                var states = past.map { state in
                    HistoryReport.State(
                        state.since, until: state.until, endedBy: names.reports(authors[state.number] ?? []),
                        snapshots: snapshots[state.number] ?? [])
                }
                states.append(
                    HistoryReport.State(
                        present.since, until: nil, snapshots: snapshots[present.state.number] ?? []))
                return HistoryReport(vault: mounted.name, path: path, states: states)
            }
            var versions = ItemVersions(of: Array(path.utf8), in: mounted.vault, names)
            for (place, state) in past.enumerated() where client.isHeard() {
                client.progress(Progress(done: place, total: past.count))
                // It may have been removed since the list was made.
                guard let view = try mounted.vault.history.view(of: state) else { continue }
                defer { view.close() }
                try versions.add(view, state)
            }
            try versions.add(present, nil)
            if versions.states.allSatisfy({ $0.item == nil }) { throw .notFound }
            return HistoryReport(vault: mounted.name, path: path, states: versions.states)
        } catch {
            throw Self.failure(error, path, name)
        }
    }

    func differences(
        of path: String, in name: String, from: PastPlace, to: PastPlace?, _ client: RequestClient
    ) throws(ClientError) -> DifferenceReport {
        let old = try view(of: name, at: from)
        defer { old.close() }
        let new = try view(of: name, at: to)
        defer { new.close() }
        do throws(FileSystemError) {
            let differences = try new.differences(
                from: old, below: Array(path.utf8), while: client.isHeard)
            return DifferenceReport(
                from: old.since / Self.second, to: new.since / Self.second,
                differences: differences.map {
                    .init(
                        kind: $0.kind.rawValue, path: String(decoding: $0.path, as: UTF8.self),
                        isDirectory: $0.isDirectory)
                })
        } catch {
            throw Self.failure(error, path, name)
        }
    }

    func restore(
        _ path: String, in name: String, at place: PastPlace, isExact: Bool, _ client: RequestClient
    ) throws(ClientError) -> RestoredReport {
        let vault = try vaults.named(name).vault
        let view = try view(of: name, at: place)
        defer { view.close() }
        do throws(FileSystemError) {
            let restored = try vault.history.restore(Array(path.utf8), from: view, isExact: isExact) {
                client.progress(Progress(done: Int($0.bytes), total: 0, isBytes: true))
                return client.isHeard()
            }
            return RestoredReport(
                since: view.since / Self.second, items: restored.items, unchanged: restored.unchanged,
                removed: restored.removed, kept: restored.kept, bytes: restored.bytes)
        } catch {
            throw Self.failure(error, path, name)
        }
    }

    func undo(
        in name: String, by texts: [String], since place: PastPlace, isRehearsal: Bool,
        _ client: RequestClient
    ) throws(ClientError) -> UndoneReport {
        let mounted = try vaults.named(name)
        let view = try view(of: name, at: place)
        defer { view.close() }
        let names = try authorNames(of: mounted)
        var authors: Set<History.Author> = []
        do throws(ContentError) {
            for text in texts { authors.formUnion(try names.authors(called: text)) }
        } catch {
            throw .content(error)
        }
        do throws(FileSystemError) {
            let undone = try mounted.vault.undo.run(by: authors, since: view, isRehearsal: isRehearsal) {
                client.progress(Progress(done: $0, total: $1))
                return client.isHeard()
            }
            return UndoneReport(undone, since: view.state, by: names.reports(authors), names)
        } catch {
            guard case .busy = error else { throw .vault(error) }
            throw .content(.undoDisturbed(vault: mounted.name))
        }
    }

    /// A state of a vault; nil for the present one.
    private func view(of name: String, at place: PastPlace? = nil) throws(ClientError) -> HistoryView {
        let mounted = try vaults.named(name)
        let (isKept, view): (Bool, HistoryView?)
        do throws(FileSystemError) {
            isKept = try mounted.vault.history.retention() != .none
            view = try Self.view(at: place, in: mounted.vault.history)
        } catch {
            throw .vault(error)
        }
        if let view { return view }
        guard isKept else { throw .content(.noHistory(vault: mounted.name)) }
        switch place {
        case .snapshot(let snapshot):
            throw .content(.noSuchState(name: snapshot, vault: mounted.name))
        default: throw .content(.beforeHistory(vault: mounted.name))
        }
    }

    private static func view(
        at place: PastPlace?, in history: History
    ) throws(FileSystemError) -> HistoryView? {
        switch place {
        // All of that second counts.
        case .time(let time):
            try history.view(at: time >= .max / second ? .max : (time + 1) * second - 1)
        case .snapshot(let name): try history.view(ofSnapshot: Array(name.utf8))
        case nil: try history.view(at: .max)
        }
    }

    private static func failure(_ error: FileSystemError, _ path: String, _ vault: String) -> ClientError {
        switch error {
        case .notFound: .content(.neverThere(path: path, vault: vault))
        case .isDirectory, .notDirectory: .content(.otherType(path: path, vault: vault))
        default: .vault(error)
        }
    }
}
