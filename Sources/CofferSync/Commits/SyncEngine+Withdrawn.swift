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
        let items = ownWithdrawn.isEmpty ? [] : try await shownItems(saidIn: ownWithdrawn)
        guard withUnsent || !items.isEmpty else { return }
        try await asking { () async throws(ReplicaError) in
            try await replica.setAside(items, andUnsent: withUnsent)
        }
    }

    /// Where the withdrawn commits begin in this device's logs: the present one, and one that it has just left.
    var ownWithdrawn: [LogID: UInt64] {
        withdrawn.filter { log, _ in
            guard log != setup.log else { return true }
            guard let summary = logs[log] else { return false }
            return summary.author == ownIdentity && summary.introduction.label == setup.introduction.label
        }
    }

    /// Items that are shown as commits from some on say: those that they made, and files, or copies of files, with
    /// contents of theirs.
    private func shownItems(saidIn withdrawn: [LogID: UInt64]) async throws(SyncError) -> [ItemID] {
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
                let own = values.values.map(\.stamp.dot).filter { dot in
                    withdrawn[dot.log].map { dot.sequence >= $0 } ?? false
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

    /// Begins another log where the present one has ended, with all that counts of it applied.
    ///
    /// So it is where facts were taken anew without it.
    func beginLogIfEnded() async throws(SyncError) -> Bool {
        guard withdrawn.isEmpty, outgoing.isEmpty, hasEnded(setup.log) else { return false }
        try await beginLog()
        return true
    }

    /// Begins another log, as nothing counts that follows this device's withdrawn commits.
    func beginLog() async throws(SyncError) {
        // First: under the name of the other log they would be put as its commits.
        let rows = outgoing.keys.map { KeptChange(KeptRow.Key(.outgoing, number: $0), nil) }
        if !rows.isEmpty {
            try await asking { () async throws(ReplicaError) in try await replica.save(rows) }
        }
        outgoing = [:]
        guard let log = await setup.newLog() else { throw .replica("a new log could not be kept") }
        setup.log = log
    }

    /// Whether nothing that is added to a log counts, and its device goes on in another one.
    func isLeft(_ log: LogID) -> Bool {
        guard log != setup.log, hasEnded(log), let summary = logs[log] else { return false }
        return logs.values.contains {
            $0.log != log && $0.author == summary.author
                && $0.introduction.label == summary.introduction.label
                && $0.clock >= summary.clock
        }
    }

    /// Whether there is a commit in a log that came too late to count.
    private func hasEnded(_ log: LogID) -> Bool {
        guard let stop = stops[log], case .right(let refusal) = stop.problem else { return false }
        return switch refusal {
        case .tooLate, .notTheBound: true
        default: false
        }
    }
}
