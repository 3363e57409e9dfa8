internal import CofferFacts
internal import CofferFormat
internal import CofferTrust

// Changes that this device made after its user's right to write had ended, and that it may not send.
extension SyncEngine {
    /// The number of registers read in one call.
    private static let pageCount = 4096

    /// Whether there are unsent changes although the user, a member, may not write.
    ///
    /// They would be visible only here, for as long as the vault exists.
    func mustGiveUpUnsent() async throws(SyncError) -> Bool {
        guard let role, !role.may(.write) else { return false }
        return try await asking { () async throws(ReplicaError) in try await replica.hasUnsent() }
    }

    /// Copies everything that a rebuild drops, and that only this device has, to a place of the user's own.
    ///
    /// That is what only withdrawn commits of this device state, and unsent changes if those are dropped,
    /// too.
    func setAsideWhatGoes(withUnsent: Bool) async throws(SyncError) {
        let items = ownWithdrawn.isEmpty ? [] : try await shownItems(saidIn: ownWithdrawn)
        guard withUnsent || !items.isEmpty else { return }
        try await asking { () async throws(ReplicaError) in
            try await replica.setAside(items, andUnsent: withUnsent)
        }
    }

    /// Where the withdrawn commits begin in this device's logs: the current one, and one that it has just
    /// left.
    var ownWithdrawn: [LogID: UInt64] {
        withdrawn.filter { log, _ in
            guard log != setup.log else { return true }
            guard let summary = logs[log] else { return false }
            return summary.author == ownIdentity && summary.introduction.label == setup.introduction.label
        }
    }

    /// Items that are visible because of commits from the given ones on: items that they made, and files, or
    /// copies of files, with contents of theirs.
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

    /// Begins another log if the current one has ended and everything of it that counts is applied.
    ///
    /// A rebuild without the log leads to this state.
    func beginLogIfEnded() async throws(SyncError) -> Bool {
        guard withdrawn.isEmpty, outgoing.isEmpty, hasEnded(setup.log) else { return false }
        try await beginLog()
        return true
    }

    /// Begins another log, because no commit after this device's withdrawn ones counts.
    func beginLog() async throws(SyncError) {
        // Forgotten first, because they would otherwise be put as commits of the new log.
        let rows = forgettingAll()
        if !rows.isEmpty {
            try await asking { () async throws(ReplicaError) in try await replica.save(rows) }
        }
        (outgoing, ownCommits) = ([:], OwnCommits())
        guard let log = await setup.newLog() else { throw .replica("a new log could not be kept") }
        setup.log = log
    }

    /// Whether a log's device continues in another log.
    ///
    /// Either nothing added to the log counts any more, or its author's right has ended since, and a log of a
    /// device with the same label continued while this one did not. In the second case, commits that came too
    /// late may or may not be at the remote.
    func isLeft(_ log: LogID) -> Bool {
        guard log != setup.log, let summary = logs[log] else { return false }
        let bounding = chain.boundingLink(of: summary.author, behind: summary.head.members)
        let first = hasEnded(log) ? 0 : bounding
        guard let first else { return false }
        return logs.values.contains {
            $0.log != log && $0.author == summary.author
                && $0.introduction.label == summary.introduction.label
                && $0.clock >= summary.clock && $0.head.members.sequence >= first
        }
    }

    /// Whether a log has a commit that came too late to count.
    private func hasEnded(_ log: LogID) -> Bool {
        guard let stop = stops[log], case .right(let refusal) = stop.problem else { return false }
        return switch refusal {
        case .tooLate, .notTheBound: true
        default: false
        }
    }
}
