import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore

@Suite struct IndexLogTests {
    /// Another thread repeatedly moves the log into the database, while changes and commits continue.
    @Test func checkpointsRunBesideTheWriter() throws {
        let test = try TestIndex.create()
        let model = try {
            let index = try test.open()
            let log = try index.makeLog()
            var rows = try RandomRows(continuing: index, seed: 1)
            let isDone = Condition(false)
            let failures = Condition([String]())
            let thread = try Thread.start("checkpoints") {
                while !isDone.withLock({ $0 }) {
                    do {
                        try log.checkpoint()
                        try log.sync()
                    } catch {
                        failures.withLock { $0.append("\(error)") }
                    }
                }
            }
            for round in 0..<150 {
                try rows.change(index, count: 10)
                try index.commit(restartingLog: round % 20 == 19)
            }
            isDone.update { $0 = true }
            thread.join()
            #expect(failures.withLock { $0 } == [])
            #expect(try IndexModel(reading: index) == rows.model)
            return rows.model
        }()
        let (found, problems) = try test.inspect()
        #expect(found == model)
        #expect(problems == [])
    }

    /// A remaining connection to a closed index does not keep its log: the next index would continue after it.
    @Test func aClosedIndexHasNoLog() throws {
        let test = try TestIndex.create()
        let index = try test.open()
        let log = try index.makeLog()
        var rows = try RandomRows(continuing: index, seed: 3)
        try rows.change(index, count: 100)
        try index.commit()
        try log.sync()
        #expect(try test.directory.open(TestIndex.log, create: false).size() > 0)
        try index.close()
        #expect(try !test.directory.contains(TestIndex.log))
        withExtendedLifetime((index, log)) {}
        let (found, problems) = try test.on(test.directory.copy()).inspect()
        #expect(found == rows.model)
        #expect(problems == [])
    }

    /// A closed index whose last user goes late leaves the log of the next one.
    @Test func aClosedIndexThatEndsLateTakesNothingAlong() throws {
        let test = try TestIndex.create()
        let model = try {
            var first: Index? = try test.open()
            let log = try first?.makeLog()
            try first?.close()
            let next = try test.open()
            var rows = try RandomRows(continuing: next, seed: 4)
            try rows.change(next, count: 100)
            try next.commit()
            try next.makeLog().sync()
            withExtendedLifetime(log) {}
            first = nil
            #expect(try test.directory.open(TestIndex.log, create: false).size() > 0)
            return rows.model
        }()
        let (found, problems) = try test.inspect()
        #expect(found == model)
        #expect(problems == [])
    }

    /// Readers check commits while the writer continues and the log is moved.
    @Test func readersCheckDuringWrites() throws {
        let test = try TestIndex.create()
        let index = try test.open()
        let log = try index.makeLog()
        var rows = try RandomRows(continuing: index, seed: 2)
        for round in 0..<10 {
            try rows.change(index, count: 30)
            try index.commit()
            let reader = Condition(try index.makeReader())
            let found = Condition([String]())
            let thread = try Thread.start("reader") {
                let problems = reader.withLock { try? $0.problems() } ?? ["It cannot be read."]
                found.withLock { $0 = problems }
            }
            try rows.change(index, count: 30)
            try index.commit()
            try log.checkpoint()
            thread.join()
            #expect(found.withLock { $0 } == [], "round \(round)")
        }
    }

    @Test func restartingKeepsTheLogBounded() throws {
        let test = try TestIndex.create()
        let index = try test.open()
        let log = try index.makeLog()
        var rows = try RandomRows(continuing: index, seed: 3)
        var isNearlyMoved = false
        var longest = 0
        for _ in 0..<300 {
            try rows.change(index, count: 5)
            try index.commit(restartingLog: isNearlyMoved)
            isNearlyMoved = false
            if index.logFrameCount > 64 { isNearlyMoved = try log.checkpoint() < 64 }
            longest = max(longest, test.directory.bytes(of: TestIndex.log).count)
        }
        #expect(longest < 300 * IndexPageLayout.frameByteCount)
        #expect(try IndexModel(reading: index) == rows.model)
    }

    @Test func aCommitFlushesNothingAndASyncOneFile() throws {
        let test = try TestIndex.create()
        let index = try test.open()
        let log = try index.makeLog()
        var rows = try RandomRows(continuing: index, seed: 4)
        // The first frame after the header of a new log waits for the header once.
        try rows.change(index, count: 5)
        try index.commit()
        try rows.change(index, count: 5)
        test.directory.resetStatistics()
        try index.commit()
        #expect(test.directory.statistics.flushed == [])
        try log.sync()
        #expect(test.directory.statistics.flushed == [TestIndex.log])
    }

    /// On a full disk the commit stays in memory, the sync says so, and nothing is lost once there is room.
    @Test(arguments: [0, 4096, 8192, 20_000])
    func aFullDiskDelaysTheSyncAndLosesNothing(room: Int) throws {
        let test = try TestIndex.create()
        let (directory, model) = try {
            let index = try test.open()
            let log = try index.makeLog()
            var rows = try RandomRows(continuing: index, seed: 5)
            try rows.change(index, count: 20)
            try index.commit()
            try log.sync()
            test.directory.limit(to: test.directory.usedByteCount + room)
            for _ in 0..<3 {
                try rows.change(index, count: 100)
                try index.commit()
                #expect(!log.isWritten)
                #expect(isNoSpace { try log.sync() })
                #expect(try IndexModel(reading: index) == rows.model)
                #expect(try index.makeReader().problems() == [])
            }
            test.directory.limit(to: nil)
            try log.sync()
            #expect(log.isWritten)
            return (test.directory.crash(seed: 1), rows.model)
        }()
        let (found, problems) = try test.on(directory).inspect()
        #expect(found == model)
        #expect(problems == [])
    }

    /// The disk was full already when the index was opened, so that not even the log's header finds room.
    @Test(arguments: [StorageCall.write, .dataSync])
    func aDiskFullFromTheStartLosesNothing(call: StorageCall) throws {
        let test = try TestIndex.create()
        let (directory, model) = try {
            let index = try test.open()
            let log = try index.makeLog()
            var rows = try RandomRows(continuing: index, seed: 6)
            test.directory.fail(
                StorageFault([call], path: TestIndex.log, code: ErrorNumber.noSpace, lasts: true))
            for _ in 0..<3 {
                try rows.change(index, count: 50)
                try index.commit()
                #expect(isNoSpace { try log.sync() })
                #expect(try IndexModel(reading: index) == rows.model)
                #expect(try index.makeReader().problems() == [])
            }
            test.directory.heal()
            try rows.change(index, count: 50)
            try index.commit()
            try log.sync()
            return (test.directory.crash(seed: 1), rows.model)
        }()
        let (found, problems) = try test.on(directory).inspect()
        #expect(found == model)
        #expect(problems == [])
    }

    /// A power cut while the disk is full leaves the last synced commit.
    @Test(arguments: 0..<8)
    func aPowerCutOnAFullDiskLeavesWhatWasSynced(seed: Int) throws {
        let test = try TestIndex.create()
        let (directory, synced, later) = try {
            let index = try test.open()
            let log = try index.makeLog()
            var rows = try RandomRows(continuing: index, seed: UInt64(seed))
            try rows.change(index, count: 20)
            try index.commit()
            try log.sync()
            let synced = rows.model
            test.directory.limit(to: test.directory.usedByteCount + 8192)
            try rows.change(index, count: 200)
            try index.commit()
            #expect(isNoSpace { try log.sync() })
            return (test.directory.crash(seed: UInt64(seed)), synced, rows.model)
        }()
        directory.limit(to: nil)
        let (found, problems) = try test.on(directory).inspect()
        #expect(found == synced || found == later, "seed \(seed)")
        #expect(problems == [], "seed \(seed)")
    }

    private func isNoSpace(_ body: () throws -> Void) -> Bool {
        do {
            try body()
            return false
        } catch {
            guard case .noSpace? = error as? FileSystemError else { return false }
            return true
        }
    }
}
