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
        do throws(FileSystemError) {
            var states: [HistoryReport.State] = []
            let past = try mounted.vault.history.states()
            for (place, state) in past.enumerated() where client.isHeard() {
                client.progress(Progress(done: place, total: past.count))
                var item: HistoryReport.Item?
                if !path.isEmpty {
                    // It may have been removed since the list was made.
                    guard let view = try mounted.vault.history.view(of: state) else { continue }
                    defer { view.close() }
                    item = try view.report(on: path)
                }
                states.add(state.since, until: state.until, item, isDistinct: path.isEmpty)
            }
            let item = try path.isEmpty ? nil : present.report(on: path)
            states.add(present.since, until: nil, item, isDistinct: path.isEmpty)
            if !path.isEmpty, states.allSatisfy({ $0.item == nil }) { throw .notFound }
            return HistoryReport(vault: mounted.name, path: path, states: states)
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
                removed: restored.removed, bytes: restored.bytes)
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

extension [HistoryReport.State] {
    /// Adds the next state; unless `isDistinct`, only if the item is another than in the last one.
    ///
    /// - Parameters:
    ///   - since: In nanoseconds since 1970.
    ///   - until: In nanoseconds since 1970; nil for the present.
    fileprivate mutating func add(
        _ since: Int64, until: Int64?, _ item: HistoryReport.Item?, isDistinct: Bool
    ) {
        let last = isDistinct ? nil : last.flatMap { $0.item == item ? $0 : nil }
        if last != nil { removeLast() }
        append(
            .init(
                since: last?.since ?? since / 1_000_000_000, until: until.map { $0 / 1_000_000_000 },
                item: item))
    }
}

extension HistoryView {
    /// What a path led to; nil if it led to nothing.
    fileprivate func report(on path: String) throws(FileSystemError) -> HistoryReport.Item? {
        do throws(FileSystemError) {
            let item = try item(atPath: Array(path.utf8))
            let type =
                switch item.type {
                case .regular: "file"
                case .directory: "directory"
                case .symbolicLink: "symlink"
                default: "other"
                }
            return HistoryReport.Item(
                type: type, size: item.type == .directory ? 0 : item.size,
                modified: item.modified / 1_000_000_000)
        } catch {
            switch error {
            case .notFound, .notDirectory: return nil
            default: throw error
            }
        }
    }
}
