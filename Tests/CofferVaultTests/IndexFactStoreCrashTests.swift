import CofferCrypto
import CofferFacts
import CofferFormat
import CofferStore
import CofferSystem
import CofferTestSupport
import CofferVault
import FactHistories
import Testing

/// Power cuts while commits are applied leave the tree of some of them, including all synced ones.
@Suite struct IndexFactStoreCrashTests {
    /// The commits of a random history, in an order in which they can be applied.
    private static func commits(seed: UInt64) throws -> [FactCommit] {
        var history = try FactHistory<MemoryFactStore>(seed: seed, hostileCommits: 2, checksEveryStep: false)
        try history.run(steps: 60)
        try history.finish()
        var waiting = history.hostile + history.replicas.flatMap(\.commits)
        var tree = FactTree(store: MemoryFactStore(), root: rootID, hashKey: hashKey)
        var ordered: [FactCommit] = []
        while let index = waiting.firstIndex(where: { commit in
            if case .applied = tree.apply(commit) { true } else { false }
        }) {
            ordered.append(waiting.remove(at: index))
        }
        return ordered
    }

    /// A tree in an index on a disk.
    private struct Device {
        let disk: SimulatedStorageDirectory
        let index: Index
        let log: IndexLog
        let store: IndexFactStore
        var tree: FactTree<IndexFactStore>

        init(_ disk: SimulatedStorageDirectory, _ vault: VaultID) throws {
            self.disk = disk
            index = try Index(in: disk, vault: vault, key: .zero())
            log = try index.makeLog()
            try index.addFacts()
            store = try IndexFactStore(index, cachedCountMax: 40)
            tree = FactTree(store: store, root: rootID, hashKey: hashKey)
        }

        /// The state after a power cut directly after a commit of the index.
        var count: UInt64 { store.versions().sequences.values.reduce(0, +) }
    }

    @Test(arguments: Seeds.first(24))
    func aPowerCutLeavesTheTreeOfSomeCommit(seed: UInt64) throws {
        let commits = try Self.commits(seed: seed)
        try #require(commits.count > 3)
        let vault = VaultID(low: Random.number(), high: Random.number())
        let disk = SimulatedStorageDirectory()
        try Index.create(in: disk, vault: vault, key: .zero())
        var random = SplitMix64(seed: seed &+ 9)
        let (left, synced) = try {
            var device = try Device(disk, vault)
            var (committed, synced) = (UInt64(0), UInt64(0))
            for commit in commits.prefix(2 + random.below(commits.count)) {
                guard case .applied = try device.tree.apply(commit) else { continue }
                if random.oneIn(2) { _ = try device.tree.takeChanges(limit: 3) }
                guard random.oneIn(2) else { continue }
                try device.store.flush()
                try device.index.commit()
                committed = device.count
                if random.oneIn(2) {
                    try device.log.sync()
                    synced = committed
                }
                if random.oneIn(4) { try device.log.checkpoint() }
            }
            return (disk.crash(seed: seed &+ 1000), synced)
        }()
        var device = try Device(left, vault)
        #expect(device.count >= synced, "seed \(seed)")
        try expectTree(of: device, commits, seed)
        #expect(try device.index.makeReader().problems() == [], "seed \(seed)")
        // It continues as if nothing had happened.
        for commit in commits { _ = try device.tree.apply(commit) }
        #expect(device.count == UInt64(commits.count), "seed \(seed)")
        try expectTree(of: device, commits, seed)
        while try !device.tree.takeChanges(limit: 7).isEmpty {}
        try device.store.flush()
        try device.index.commit()
        #expect(try device.index.makeReader().problems() == [], "seed \(seed)")
    }

    /// The tree matches the commits that the device says it has.
    private func expectTree(of device: Device, _ commits: [FactCommit], _ seed: UInt64) throws {
        var memory = FactTree(store: MemoryFactStore(), root: rootID, hashKey: hashKey)
        for commit in commits where device.store.versions().contains(commit.stamp.dot) {
            _ = memory.apply(commit)
        }
        #expect(memory.store.versions() == device.store.versions(), "seed \(seed)")
        #expect(try device.tree.shownTree() == memory.shownTree(), "seed \(seed)")
        #expect(device.tree.store.stateHash() == memory.store.stateHash(), "seed \(seed)")
        for (register, values) in memory.store.allValues {
            #expect(try device.store.values(register) == values, "seed \(seed)")
        }
    }
}
