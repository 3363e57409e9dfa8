internal import CofferCrypto
internal import CofferFacts
internal import CofferFormat
internal import CofferStore
internal import CofferSystem
internal import CofferVault

/// Times facts in memory, and in the index on a real disk.
struct FactBenchmarks {
    let loop: Loop
    let directory: String

    private static let root = ItemID(low: 1, high: 1)
    private static let fileCount = 1_000

    func run() throws {
        var commits = Commits()
        try loop.measure("facts: encode and decode a new file") { repetitions in
            for start in stride(from: 0, to: repetitions, by: Self.fileCount) {
                let commit = commits.next(min(Self.fileCount, repetitions - start))
                let body = FactRecord.bytes(commit.facts)
                guard try unsafe FactRecord.facts(body.span.bytes).count == commit.facts.count else {
                    throw IndexBenchmarks.Wrong()
                }
            }
        }
        commits = Commits()
        var memory = FactTree(store: MemoryFactStore(), root: Self.root, hashKey: Self.hashKey)
        loop.measure("facts: apply a new file, in memory") { repetitions in
            for start in stride(from: 0, to: repetitions, by: Self.fileCount) {
                _ = memory.apply(commits.next(min(Self.fileCount, repetitions - start)))
                while !memory.takeChanges(limit: 256).isEmpty {}
            }
        }
        try runInIndex()
    }

    private func runInIndex() throws {
        let storage = try POSIXStorageDirectory(path: directory)
        let vault = VaultID(low: 1, high: 2)
        let key = SymmetricKey<StoreRole>.random()
        try Index.create(in: storage, vault: vault, key: key)
        let index = try Index(in: storage, vault: vault, key: key)
        let log = try index.makeLog()
        try index.addFacts()
        let store = try IndexFactStore(index)
        var tree = FactTree(store: store, root: Self.root, hashKey: Self.hashKey)
        var commits = Commits()
        var count = 0
        try loop.measure("facts: apply a new file, index commits included") { repetitions in
            for start in stride(from: 0, to: repetitions, by: Self.fileCount) {
                _ = try tree.apply(commits.next(min(Self.fileCount, repetitions - start)))
                while try !tree.takeChanges(limit: 256).isEmpty {}
                try store.flush()
                try index.commit()
                count += 1
                if count % 10 == 0 { _ = try log.checkpoint() }
            }
        }
        try loop.measure("journal: append a record, commits included") { repetitions in
            let record = [UInt8](repeating: 7, count: 64)
            for repetition in 0..<repetitions {
                let number = try index.appendToJournal(record)
                if repetition % Self.fileCount == Self.fileCount - 1 {
                    try index.removeJournal(upTo: number)
                    try index.commit()
                }
            }
        }
        try store.flush()
        try index.close()
    }

    private static let hashKey = StateHashKey(SymmetricKey<StateHashRole>.random())

    /// The commits of a device that creates small files in the root.
    private struct Commits {
        private let log = LogID(low: 5, high: 5)
        private var sequence: UInt64 = 0
        private var versions = VersionVector()
        private var fileNumber = 0

        mutating func next(_ count: Int) -> FactCommit {
            let versions = versions
            sequence += 1
            self.versions[log] = sequence
            let stamp = Stamp(
                clock: 1_700_000_000_000 << 16 + sequence, dot: Dot(log: log, sequence: sequence))
            var facts: [Fact] = []
            for _ in 0..<count { facts += newFile() }
            return FactCommit(
                stamp: stamp, versions: versions, label: sequence == 1 ? "bench" : nil, facts: facts)
        }

        private mutating func newFile() -> [Fact] {
            fileNumber += 1
            let item = ItemID(low: Random.number(), high: Random.number())
            let entry = EntryID(low: Random.number(), high: Random.number())
            let content = Fact.Content(bytes: [UInt8](repeating: 1, count: 64), size: 4_096)
            guard let name = EntryName("file-\(fileNumber).txt".utf8) else { return [] }
            let place = Place(parent: FactBenchmarks.root, name: name)
            return [
                Fact(.kind(item, .file)), Fact(.mode(item, 0o644)),
                Fact(.modified(item, 1_700_000_000_000_000_000)),
                Fact(.content(item, content)),
                Fact(.place(entry, .init(item: item, place: place, previous: nil))),
            ]
        }
    }
}
