internal import CofferFacts
internal import CofferFormat
internal import CofferTrust

// What this device wrote and may not say: its user's right to write had ended before.
extension SyncEngine {
    /// Registers that are looked at in one call.
    private static let pageCount = 4096

    /// Whether there are changes here that its user, who is a member, may not send.
    ///
    /// They would be shown here alone, for as long as the vault is.
    func mustGiveUpUnsent() async throws(SyncError) -> Bool {
        guard let role, !role.may(.write) else { return false }
        return try await asking { () async throws(ReplicaError) in try await replica.hasUnsent() }
    }

    /// Copies what goes with all facts to a place of the person's own, as this device alone has it: what only withdrawn
    /// commits of this device say, and what is unsent where that goes, too.
    func setAsideWhatGoes(withUnsent: Bool) async throws(SyncError) {
        var items: [ItemID] = []
        if let first = withdrawn[setup.log] { items = try await shownItems(saidFrom: first) }
        guard withUnsent || !items.isEmpty else { return }
        let found = items
        try await asking { () async throws(ReplicaError) in
            try await replica.setAside(found, andUnsent: withUnsent)
        }
    }

    /// Items that are shown as this device's commits from one on say: those that they made, and files, or copies of
    /// files, with contents of theirs.
    private func shownItems(saidFrom first: UInt64) async throws(SyncError) -> [ItemID] {
        var items: Set<ItemID> = []
        var last: Register?
        while true {
            let after = last
            let page = try await asking { () async throws(ReplicaError) in
                try await replica.values(after: after, limit: Self.pageCount)
            }
            guard let end = page.last else { break }
            last = end.register
            for values in page {
                let own = values.values.map(\.stamp.dot).filter {
                    $0.log == setup.log && $0.sequence >= first
                }
                guard !own.isEmpty else { continue }
                switch values.register {
                case .kind(let item): items.insert(item)
                case .content(let item):
                    if let shown = values.values.last?.stamp.dot, own.contains(shown) { items.insert(item) }
                    items.formUnion(own.map { CopySource(item: item, dot: $0).ids.item })
                default: break
                }
            }
        }
        return items.sorted()
    }

    /// Begins another log, as nothing counts that follows this device's withdrawn commits.
    func beginLog() async throws(SyncError) {
        // First: under the name of the other log they would be put as its commits.
        let rows = outgoing.keys.map { SyncRow(SyncRow.Key(.outgoing, number: $0), nil) }
        if !rows.isEmpty {
            try await asking { () async throws(ReplicaError) in try await replica.save(rows) }
        }
        outgoing = [:]
        guard let log = await setup.newLog() else { throw .replica("a new log could not be kept") }
        setup.log = log
    }

    /// Whether nothing that is added to a log counts, and its device goes on in another one.
    func isLeft(_ log: LogID) -> Bool {
        guard log != setup.log, let summary = logs[log], let stop = stops[log],
            case .right(let refusal) = stop.problem
        else { return false }
        switch refusal {
        case .tooLate, .notTheBound: break
        default: return false
        }
        return logs.values.contains {
            $0.log != log && $0.author == summary.author
                && $0.introduction.label == summary.introduction.label
                && $0.clock >= summary.clock
        }
    }
}
