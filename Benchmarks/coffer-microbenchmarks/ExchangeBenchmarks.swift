internal import CofferCrypto
internal import CofferFacts
internal import CofferFormat
internal import CofferStore
internal import CofferSystem
internal import CofferTrust
internal import CofferVault

/// Times what a vault needs to track its changes, to make commits of them, and to apply commits of others.
struct ExchangeBenchmarks {
    let loop: Loop
    let directory: String
    /// The number of files that are collected at once.
    private static let fileCount = 100_000
    private static let caller = Caller(user: 0, group: 0, umask: 0)

    /// Publishes no contents, so that only the other work is timed.
    private struct NoContents: ContentPublishing {
        func contents(of numbers: [Int64], in vault: Vault) throws(FileSystemError) -> [Int64: Fact.Content] {
            Dictionary(uniqueKeysWithValues: numbers.map { ($0, Fact.Content(bytes: [], size: 0)) })
        }
        func prepare(_ content: Fact.Content, of item: ItemID, in vault: Vault) throws(FileSystemError) {}
        func begins(
            _ new: Fact.Content, with old: Fact.Content, at number: Int64?, in vault: Vault
        ) throws(FileSystemError) -> Bool { false }
        func placeArrived(in vault: Vault) throws(FileSystemError) {}
        func forgetPrepared() {}
        func apply(
            _ content: Fact.Content?, to file: ContentTarget, _ state: inout VaultState
        ) throws(FileSystemError) {}
        func move(
            _ content: Fact.Content, of file: ContentTarget, _ state: inout VaultState
        ) throws(FileSystemError) {}
    }

    /// Keeps commits in memory, and a few bytes for each on disk.
    private final class Recorder: CommitRecorder {
        let isNeeded = false, takesChanges = true, movesContents = true
        var commits: [FactCommit] = []
        func check(_ versions: VersionVector) throws(SealingError) {}
        func record(_ commit: FactCommit, stateHash: StateHash) throws(SealingError) -> [KeptChange] {
            commits.append(commit)
            let key = KeptRow.Key(.outgoing, id: [], number: commit.stamp.dot.sequence)
            return [KeptChange(key, FactRecord.bytes(commit.facts))]
        }
    }

    func run() throws {
        let id = VaultID(low: 3, high: 4)
        let key = EpochKey(vault: id, epoch: .first, key: .random())
        guard let keys = ContentKeys(vault: id, [key]) else { throw IndexBenchmarks.Wrong() }
        let plain = try open("plain", id, keys)
        try loop.measure("exchange: create, without a remote") { try create($0, in: plain, "a") }
        try plain.close()
        let sender = try open("sender", id, keys)
        try sender.outgoing.beginTracking()
        try loop.measure("exchange: create, with a remote") { try create($0, in: sender, "b") }
        let one = participant(1)
        let recorder = Recorder()
        while try sender.outgoing.collectChanges(as: one, takesAll: true, recorder: recorder) != nil {}
        try time("collect a new file", Self.fileCount) {
            try create(Self.fileCount, in: sender, "c")
            while try sender.outgoing.collectChanges(as: one, takesAll: true, recorder: recorder) != nil {}
        }
        let receiver = try open("receiver", id, keys)
        try receiver.outgoing.beginTracking()
        let other = participant(2)
        var pending = recorder.commits.map { IncomingCommit($0) }[...]
        let files = pending.reduce(0) { $0 + $1.commit.facts.count { $0.isKind } }
        try time("apply a new file", files) {
            while !pending.isEmpty {
                let applied = try receiver.incoming.apply(
                    Array(pending.prefix(16)), as: other, recorder: Recorder())
                pending = pending.dropFirst(applied.count)
            }
        }
        try receiver.close()
        try sender.close()
    }

    /// Runs the work once, because it cannot be repeated, and prints the time per item.
    private func time(_ name: String, _ count: Int, _ body: () throws -> Void) rethrows {
        if !loop.filter.isEmpty, !"exchange: \(name)".contains(loop.filter) { return try body() }
        let start = Clock.monotonic
        try body()
        print("exchange: \(name), one of \(count): \((Clock.monotonic - start) / Int64(max(count, 1))) ns")
    }

    private func participant(_ number: UInt64) -> Participant {
        Participant(
            log: LogID(low: number, high: 7), label: "device \(number)",
            hashKey: StateHashKey(SymmetricKey<StateHashRole>.random()), contents: NoContents(),
            milliseconds: { UInt64(Clock.realTime / 1_000_000) })
    }

    private func open(_ name: String, _ id: VaultID, _ keys: ContentKeys) throws -> Vault {
        let storage = try POSIXStorageDirectory(path: directory).subdirectory(name)
        let store = SymmetricKey<StoreRole>.random()
        try Vault.create(in: storage, id: id, store: store, owner: Self.caller)
        let vault = try Vault(in: storage, id: id, store: store, keys: keys, problems: ProblemLog())
        try vault.start()
        return vault
    }

    private func create(_ count: Int, in vault: Vault, _ prefix: String) throws {
        let new = Vault.NewItem(mode: 0o040_755)
        let directory = try vault.create(
            new, named: Array("\(prefix) \(Random.number() as UInt64)".utf8), in: Vault.rootNumber,
            by: Self.caller)
        for number in 0..<count {
            _ = try vault.create(
                Vault.NewItem(mode: 0o100_644), named: Array("\(number)".utf8), in: directory.number,
                by: Self.caller)
        }
    }
}

extension Fact {
    /// Whether the fact states the kind of an item.
    fileprivate var isKind: Bool {
        if case .kind = assertion { return true }
        return false
    }
}
