internal import CofferFUSE
internal import CofferFormat
internal import CofferVault

// Requests about the past of vaults.
extension ControlHandler {
    private static let second: Int64 = 1_000_000_000

    func keepHistory(of name: String, _ seconds: Int64?) throws(ClientError) {
        let mounted = try vaults.named(name)
        let retention: History.Retention = seconds.map { $0 > 0 ? .seconds($0) : .none } ?? .forever
        func set() throws(ClientError) {
            do throws(FileSystemError) { try mounted.vault.history.set(retention) } catch {
                throw .vault(error)
            }
        }
        // The hidden directory comes or goes.
        let isShown = retention != .none
        if isShown == mounted.vault.history.isOn, isShown {
            try set()
        } else {
            try withoutPast(mounted.slot, set)
        }
    }

    /// Deletes a vault on this device, of whose past programs get nothing more.
    func deleteVault(_ name: String) throws(ClientError) {
        // One that could not be opened can be deleted, too.
        guard let mounted = try? vaults.named(name) else { return try shared.delete(name) }
        try withoutPast(mounted.slot) { () throws(ClientError) in try shared.delete(name) }
    }

    func history(
        of path: String, in name: String, _ client: RequestClient
    ) throws(ClientError) -> HistoryReport {
        let mounted = try vaults.named(name)
        let present = try view(of: name)
        defer { present.close() }
        let names = authorNames(of: mounted)
        do throws(FileSystemError) {
            let past = try mounted.vault.history.states()
            if path.isEmpty {
                let authors = try mounted.vault.history.authors()
                var states = past.map { state in
                    HistoryReport.State(
                        state.since, until: state.until, endedBy: names.reports(authors[state.number] ?? []))
                }
                states.append(HistoryReport.State(present.since, until: nil))
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
        of path: String, in name: String, from: Int64, to: Int64?, _ client: RequestClient
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
        _ path: String, in name: String, at time: Int64, isExact: Bool, _ client: RequestClient
    ) throws(ClientError) -> RestoredReport {
        let vault = try vaults.named(name).vault
        let view = try view(of: name, at: time)
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

    /// The state of a vault at a time in seconds; nil for the present one.
    private func view(of name: String, at time: Int64? = nil) throws(ClientError) -> HistoryView {
        let mounted = try vaults.named(name)
        // All of that second counts.
        let end = time.map { $0 >= .max / Self.second ? .max : ($0 + 1) * Self.second - 1 } ?? .max
        let (isKept, view): (Bool, HistoryView?)
        do throws(FileSystemError) {
            isKept = try mounted.vault.history.retention() != .none
            view = try mounted.vault.history.view(at: end)
        } catch {
            throw .vault(error)
        }
        if let view { return view }
        throw .content(isKept ? .beforeHistory(vault: mounted.name) : .noHistory(vault: mounted.name))
    }

    private static func failure(_ error: FileSystemError, _ path: String, _ vault: String) -> ClientError {
        switch error {
        case .notFound: .content(.neverThere(path: path, vault: vault))
        case .isDirectory, .notDirectory: .content(.otherType(path: path, vault: vault))
        default: .vault(error)
        }
    }
}
