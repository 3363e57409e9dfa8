import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore

/// Bytes that changed on disk are detected: reads return what was written, or fail.
@Suite struct IndexDamageTests {
    private static let page = IndexPageLayout.pageByteCount

    /// A closed index with every page in use, and its content.
    private func makeIndex(seed: UInt64, changes: Int = 250) throws -> (test: TestIndex, model: IndexModel) {
        let test = try TestIndex.create()
        let index = try test.open()
        var rows = try RandomRows(continuing: index, seed: seed)
        try rows.change(index, count: changes)
        try index.close()
        return (test, rows.model)
    }

    /// The result of reading every row and the problems.
    private enum Verdict: Equatable {
        case sound, noticed, wrong(String)
    }

    private func judge(_ test: TestIndex, _ model: IndexModel) -> Verdict {
        guard let index = try? test.open() else { return .noticed }
        var isNoticed = false
        func compare<Value: Equatable>(_ what: String, _ expected: Value, _ read: () throws -> Value)
            -> String?
        {
            do {
                let found = try read()
                return found == expected ? nil : "\(what): \(found) instead of \(expected)"
            } catch {
                isNoticed = true
                return nil
            }
        }
        var wrong: String?
        for (number, row) in model.items {
            wrong = wrong ?? compare("item", row) { try index.item(number) }
            wrong =
                wrong
                ?? compare("extents", model.extents[number] ?? []) {
                    try index.extents(of: number, overlapping: 0..<Int64.max)
                }
            wrong =
                wrong
                ?? compare("attributes", model.attributes[number] ?? [:]) {
                    Dictionary(uniqueKeysWithValues: try index.attributes(of: number))
                }
        }
        for entry in model.entries.values {
            wrong = wrong ?? compare("entry", entry) { try index.entry(entry.name, in: entry.parent) }
        }
        for (number, content) in model.contents {
            wrong = wrong ?? compare("content", content.bytes) { try index.content(number) }
        }
        wrong = wrong ?? compare("orphans", model.orphans) { Set(try index.orphans()) }
        if let wrong { return .wrong(wrong) }
        let problems = (try? index.makeReader().problems()) ?? ["It cannot be read."]
        return isNoticed || !problems.isEmpty ? .noticed : .sound
    }

    @Test func anUntouchedIndexIsSound() throws {
        let (test, model) = try makeIndex(seed: 1)
        #expect(judge(test, model) == .sound)
    }

    @Test(arguments: [UInt64(1), 2])
    func aFlippedByteOfAnyPageIsNoticed(seed: UInt64) throws {
        let (test, model) = try makeIndex(seed: seed)
        var random = SplitMix64(seed: seed)
        let count = test.directory.bytes(of: TestIndex.database).count / Self.page
        #expect(count > 10)
        let tag = Self.page - IndexPageLayout.reservedByteCount
        for page in 0..<count {
            for place in [0, random.below(tag), tag, tag + 16, Self.page - 1] {
                let damaged = test.on(test.directory.copy())
                damaged.directory.flip(TestIndex.database, at: page * Self.page + place, mask: 0x40)
                #expect(judge(damaged, model) == .noticed, "seed \(seed), byte \(place) of page \(page + 1)")
            }
        }
    }

    @Test func swappedPagesAreDetected() throws {
        let (test, model) = try makeIndex(seed: 3)
        let bytes = test.directory.bytes(of: TestIndex.database)
        let count = bytes.count / Self.page
        for page in 1..<count {
            let other = page == 1 ? 2 : page - 1
            let damaged = test.on(test.directory.copy())
            let (one, two) = (
                bytes[page * Self.page..<(page + 1) * Self.page],
                bytes[other * Self.page..<(other + 1) * Self.page]
            )
            damaged.directory.overwrite(TestIndex.database, at: page * Self.page, with: Array(two))
            damaged.directory.overwrite(TestIndex.database, at: other * Self.page, with: Array(one))
            #expect(judge(damaged, model) == .noticed, "page \(page + 1)")
        }
    }

    @Test func aTruncatedDatabaseIsDetected() throws {
        let (test, model) = try makeIndex(seed: 4)
        let size = test.directory.bytes(of: TestIndex.database).count
        for size in [0, 1, 100, Self.page, size / 2, size - Self.page, size - 1] {
            let damaged = test.on(test.directory.copy())
            damaged.directory.cut(TestIndex.database, to: size)
            #expect(judge(damaged, model) == .noticed, "cut to \(size) bytes")
        }
    }

    @Test func aMissingDatabaseIsNoticed() throws {
        let (test, _) = try makeIndex(seed: 5)
        test.directory.destroy(TestIndex.database)
        #expect(throws: FileSystemError.self) { _ = try test.open() }
        #expect(test.directory.bytes(of: TestIndex.database).isEmpty)
    }

    /// Even with the same store key, pages of one vault mean nothing in another.
    @Test func aPageOfAnotherVaultIsNoticed() throws {
        let (test, model) = try makeIndex(seed: 6)
        let other = try {
            let other = try TestIndex.create(withKeyOf: test)
            let index = try other.open()
            var rows = try RandomRows(continuing: index, seed: 6)
            try rows.change(index, count: 250)
            try index.close()
            return other.directory.bytes(of: TestIndex.database)
        }()
        let count = min(other.count, test.directory.bytes(of: TestIndex.database).count) / Self.page
        for page in 0..<count {
            let damaged = test.on(test.directory.copy())
            damaged.directory.overwrite(
                TestIndex.database, at: page * Self.page,
                with: Array(other[page * Self.page..<(page + 1) * Self.page]))
            #expect(judge(damaged, model) == .noticed, "page \(page + 1)")
        }
    }

    /// Each page is authentic by itself; the sums over all rows show that one of them is old.
    @Test func anOlderPagePutBackIsReported() throws {
        let (test, _) = try makeIndex(seed: 7)
        let older = test.directory.copy().bytes(of: TestIndex.database)
        try {
            let index = try test.open()
            var rows = try RandomRows(continuing: index, seed: 8)
            for number in rows.model.items.keys.sorted() {
                guard var row = rows.model.items[number] else { continue }
                row.modified += 1
                _ = try index.put(row, replacing: rows.model.items[number].map { index.hash(of: $0) })
                rows.model.items[number] = row
            }
            try index.close()
        }()
        let newer = test.directory.bytes(of: TestIndex.database)
        var checked = 0
        for start in stride(from: Self.page, to: min(older.count, newer.count), by: Self.page) {
            let page = start..<start + Self.page
            if older[page] == newer[page] { continue }
            let damaged = test.on(test.directory.copy())
            damaged.directory.overwrite(TestIndex.database, at: start, with: Array(older[page]))
            let problems = (try? damaged.inspect().problems) ?? ["It cannot be read."]
            #expect(!problems.isEmpty, "page \(start / Self.page + 1)")
            checked += 1
        }
        #expect(checked >= 3)
    }

    @Test(arguments: [
        "UPDATE items SET modified = modified - 1 WHERE number = (SELECT max(number) FROM items)",
        "UPDATE items SET mode = 33279 WHERE number = (SELECT max(number) FROM items)",
        "UPDATE entries SET unsent = 1 - unsent WHERE cookie = (SELECT max(cookie) FROM entries)",
        "UPDATE extents SET prefix = zeroblob(16) WHERE item = (SELECT max(item) FROM extents)",
        "DELETE FROM attributes WHERE item = (SELECT max(item) FROM attributes)",
        "UPDATE packs SET written = written + 1",
        "INSERT INTO orphans SELECT max(number) + 1 FROM items",
        "UPDATE contents SET number = number + 1000 WHERE number = (SELECT max(number) FROM contents)",
        "UPDATE state SET digests = zeroblob(144)",
        "DELETE FROM state",
    ])
    func aRowThatWasChangedAroundTheSumsIsReported(sql: String) throws {
        let (test, model) = try makeIndex(seed: 9)
        try #require(!model.attributes.isEmpty && !model.contents.isEmpty && !model.packs.isEmpty)
        try {
            let index = try test.open()
            try index.execute(sql)
            try index.execute("COMMIT")
        }()
        let problems = (try? test.inspect().problems) ?? ["It cannot be read."]
        #expect(!problems.isEmpty)
    }

    /// Whichever page is damaged, the index opens with the others, except for the first page and that of the state.
    @Test func anIndexWithADamagedPageOpens() throws {
        let test = try TestIndex.create()
        do {
            let index = try test.open()
            var rows = try RandomRows(continuing: index, seed: 11)
            for _ in 0..<10 { try rows.change(index, count: 60) }
            try index.close()
        }
        let count = test.directory.bytes(of: TestIndex.database).count / IndexPageLayout.pageByteCount
        #expect(count > 20)
        for page in 2..<count {
            let damaged = test.on(test.directory.copy())
            damaged.directory.flip(TestIndex.database, at: page * IndexPageLayout.pageByteCount + 50)
            #expect(throws: Never.self, "page \(page + 1)") { _ = try damaged.open() }
        }
    }
}
