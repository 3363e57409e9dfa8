import CofferSystem
import CofferTestSupport
import Testing

import CofferStore

/// Power cuts at random moments leave a commit, and none older than the last synced one.
@Suite struct IndexCrashTests {
    /// The commits, and which of them must survive.
    private struct History {
        var commits: [IndexModel]
        var synced = 0
    }

    @Test(arguments: Seeds.first(64))
    func aPowerCutLeavesACommitNotOlderThanTheLastSync(seed: UInt64) throws {
        let test = try TestIndex.create()
        let (directory, history) = try run(test, seed)
        let left = test.on(directory)
        let (found, problems) = try left.inspect()
        let age = history.commits.lastIndex(of: found)
        #expect(age != nil, "seed \(seed): the state is none that was committed")
        #expect((age ?? 0) >= history.synced, "seed \(seed): the state is older than what was synced")
        #expect(problems == [], "seed \(seed)")
        try goOn(with: left, seed: seed)
    }

    /// Changes, commits, syncs and checkpoints at random; then the power is cut.
    private func run(_ test: TestIndex, _ seed: UInt64) throws -> (SimulatedStorageDirectory, History) {
        let index = try test.open()
        let log = try index.makeLog()
        var rows = try RandomRows(continuing: index, seed: seed)
        var history = History(commits: [rows.model])
        var isNearlyMoved = false
        for _ in 0..<20 + rows.random.below(80) {
            switch rows.random.below(8) {
            case 0...3: try rows.change(index, count: 1 + rows.random.below(20))
            case 4, 5:
                try index.commit(restartingLog: isNearlyMoved)
                isNearlyMoved = false
                history.commits.append(rows.model)
            case 6:
                try log.sync()
                history.synced = history.commits.count - 1
            default: isNearlyMoved = try log.checkpoint() < 16
            }
        }
        return (test.directory.crash(seed: seed &+ 1000), history)
    }

    /// The index continues as if nothing had happened.
    private func goOn(with test: TestIndex, seed: UInt64) throws {
        let model = try {
            let index = try test.open()
            var rows = try RandomRows(continuing: index, seed: seed)
            try rows.change(index, count: 50)
            try index.commit()
            try rows.change(index, count: 50)
            try index.close()
            return rows.model
        }()
        let (found, problems) = try test.inspect()
        #expect(found == model, "seed \(seed)")
        #expect(problems == [], "seed \(seed)")
    }

    /// Repeated power cuts, each soon after the index was opened, with a sync in between.
    @Test(arguments: Seeds.first(16))
    func repeatedPowerCutsLoseNothingSynced(seed: UInt64) throws {
        var directory: SimulatedStorageDirectory?
        let first = try TestIndex.create()
        for round in 0..<6 {
            let test = first.on(directory ?? first.directory)
            let (left, synced) = try {
                let index = try test.open()
                let log = try index.makeLog()
                var rows = try RandomRows(continuing: index, seed: seed &* 100 &+ UInt64(round))
                try rows.change(index, count: 20)
                try index.commit()
                try log.sync()
                let synced = rows.model
                if rows.random.oneIn(2) { try log.checkpoint() }
                try rows.change(index, count: 20)
                return (test.directory.crash(seed: seed &* 100 &+ UInt64(round)), synced)
            }()
            let (found, problems) = try first.on(left).inspect()
            #expect(found == synced, "seed \(seed), round \(round)")
            #expect(problems == [], "seed \(seed), round \(round)")
            directory = left
        }
    }
}
