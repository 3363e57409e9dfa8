import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore

@Suite struct IndexTests {
    @Test func aNewIndexHoldsItsRootAndIsSound() throws {
        let test = try TestIndex.create()
        let (model, problems) = try test.inspect()
        #expect(model.items.keys.sorted() == [IndexModel.root])
        #expect(model.entries.isEmpty)
        #expect(problems == [])
    }

    @Test(arguments: [UInt64(1), 2, 3, 4])
    func committedRowsSurviveReopening(seed: UInt64) throws {
        let test = try TestIndex.create()
        var model = IndexModel()
        for round in 0..<3 {
            let index = try test.open()
            var rows = try RandomRows(continuing: index, seed: seed * 10 + UInt64(round))
            if round > 0 { #expect(rows.model == model, "seed \(seed)") }
            for _ in 0..<5 {
                try rows.change(index, count: 20)
                try index.commit()
            }
            model = rows.model
            if round == 1 { try index.close() }
        }
        let (found, problems) = try test.inspect()
        #expect(found == model, "seed \(seed)")
        #expect(problems == [], "seed \(seed)")
    }

    /// Bytes in memory that belong to a remote extent are known by its number.
    @Test func noNumberOfARemoteExtentIsGivenTwice() throws {
        let test = try TestIndex.create()
        let index = try test.open()
        let place = SealedPlace(pack: PackID(low: 1, high: 1), position: 48, hash: .zero)
        var numbers: [Int64] = []
        for _ in 0..<3 {
            numbers.append(try index.insertRemoteExtent(place, live: 10))
            try index.addLive(-10, toRemote: numbers[numbers.count - 1])
        }
        try index.commit()
        numbers.append(try index.insertRemoteExtent(place, live: 10))
        #expect(Set(numbers).count == 4)
        try index.addLive(-10, toRemote: numbers[3])
        try index.commit()
    }

    @Test func uncommittedRowsAreGone() throws {
        let test = try TestIndex.create()
        let committed = try {
            let index = try test.open()
            var rows = try RandomRows(continuing: index, seed: 5)
            try rows.change(index, count: 50)
            try index.commit()
            let committed = rows.model
            try rows.change(index, count: 50)
            #expect(try IndexModel(reading: index) == rows.model)
            return committed
        }()
        let (found, problems) = try test.inspect()
        #expect(found == committed)
        #expect(problems == [])
    }

    @Test func numbersAreNeverUsedTwice() throws {
        let test = try TestIndex.create()
        let used = try {
            let index = try test.open()
            let used = (index.nextItemNumber(), index.nextCookie(), index.nextPackNumber())
            try index.close()
            return used
        }()
        let index = try test.open()
        #expect(index.nextItemNumber() == used.0 + 1)
        #expect(index.nextCookie() == used.1 + 1)
        #expect(index.nextPackNumber() == used.2 + 1)
        #expect(used.1 > 2)
    }

    /// This includes numbers that were given out after the last commit before a crash.
    @Test func numbersAreNotUsedTwiceAfterACrash() throws {
        let test = try TestIndex.create()
        let index = try test.open()
        try index.commit()
        try index.makeLog().sync()
        var used: (item: Int64, cookie: Int64) = (0, 0)
        for _ in 0..<20_000 { used = (index.nextItemNumber(), index.nextCookie()) }
        let again = try test.on(test.directory.crash(seed: 1)).open()
        #expect(again.nextItemNumber() > used.item)
        #expect(again.nextCookie() > used.cookie)
    }

    @Test func aReaderSeesTheLastCommitOnly() throws {
        let test = try TestIndex.create()
        let index = try test.open()
        var rows = try RandomRows(continuing: index, seed: 6)
        try rows.change(index, count: 30)
        try index.commit()
        let reader = try index.makeReader()
        let size = try reader.size()
        try rows.change(index, count: 300)
        #expect(try reader.size() == size)
        try index.commit()
        #expect(try reader.size() == size)
        #expect(try reader.problems() == [])
        #expect(try index.makeReader().size().items == Int64(rows.model.items.count))
    }

    @Test func closingLeavesNoLogAndReopeningShowsTheSame() throws {
        let test = try TestIndex.create()
        try {
            let index = try test.open()
            var rows = try RandomRows(continuing: index, seed: 7)
            try rows.change(index, count: 100)
            try index.close()
        }()
        #expect(test.directory.paths == [TestIndex.database])
        #expect(test.directory.bytes(of: TestIndex.database).count % IndexPageLayout.pageByteCount == 0)
    }

    @Test func aNewerFormatHasItsOwnError() throws {
        let test = try TestIndex.create()
        try {
            let index = try test.open()
            try index.execute("PRAGMA user_version = 7")
            try index.close()
        }()
        #expect {
            try test.open()
        } throws: {
            guard case .format(.newerVersion(found: 7, supported: 6), _)? = $0 as? FileSystemError else {
                return false
            }
            return true
        }
    }

    @Test func anotherKeyOpensNothing() throws {
        let test = try TestIndex.create()
        #expect(throws: FileSystemError.self) {
            _ = try Index(in: test.directory, vault: test.vault, key: .random())
        }
        #expect(throws: FileSystemError.self) {
            _ = try Index(in: test.directory, vault: VaultID(low: 1, high: 2), key: test.key)
        }
    }

    @Test func nothingIsInTheClear() throws {
        let test = try TestIndex.create()
        let index = try test.open()
        var rows = try RandomRows(continuing: index, seed: 8)
        try rows.change(index, count: 100)
        try index.commit()
        for path in test.directory.paths {
            let bytes = test.directory.bytes(of: path)
            for word in ["SQLite format", "file-", "user.", "CREATE TABLE"] {
                let pattern = Array(word.utf8)
                let found = bytes.indices.dropLast(pattern.count).first {
                    bytes[$0] == pattern[0] && bytes[$0..<$0 + pattern.count].elementsEqual(pattern)
                }
                #expect(found == nil, "“\(word)” in \(path)")
            }
        }
    }
}
