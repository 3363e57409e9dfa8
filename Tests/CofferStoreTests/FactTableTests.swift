import CofferFacts
import CofferFormat
import CofferTestSupport
import Testing

@testable import CofferStore

/// The tables of facts: stored rows are read back, and changes that bypass the sums are detected.
@Suite struct FactTableTests {
    private let item = ItemID(low: 5, high: 1 << 60)
    private let entry = EntryID(low: 6, high: 2)
    private let stamp = Stamp(clock: 3, dot: Dot(log: LogID(low: 1, high: 1), sequence: 2))

    private func place(_ parent: UInt64, _ name: String) throws -> Place {
        Place(parent: ItemID(low: parent, high: 7), name: try #require(EntryName(name.utf8)))
    }

    private func open() throws -> (TestIndex, Index) {
        let test = try TestIndex.create()
        let index = try test.open()
        try index.addFacts()
        return (test, index)
    }

    // MARK: The tables themselves

    @Test func tablesAreMadeOnceAndStay() throws {
        let test = try TestIndex.create()
        do {
            let index = try test.open()
            #expect(!index.hasFacts)
            #expect(index.digest.bytes.count == 144)
            try index.addFacts()
            try index.addFacts()
            #expect(index.hasFacts)
            #expect(try index.makeReader().problems() == [])
            try index.close()
        }
        let index = try test.open()
        #expect(index.hasFacts)
        #expect(index.digest.bytes.count == 272)
        #expect(try index.factState() == FactStateRow())
        #expect(try index.makeReader().problems() == [])
    }

    @Test func uncommittedRowsAreInvisible() throws {
        let test = try TestIndex.create()
        do {
            let index = try test.open()
            try index.addFacts()
            #expect(index.changes > 0)
        }
        let index = try test.open()
        #expect(!index.hasFacts)
        #expect(try index.makeReader().problems() == [])
    }

    @Test func tablesWithoutTheirVersionAreDamage() throws {
        let (test, index) = try open()
        try index.commit()
        try index.database.execute("PRAGMA user_version = 1; COMMIT")
        #expect(throws: FileSystemError.self) { try test.open() }
    }

    @Test func aNewerIndexIsRefused() throws {
        let (test, index) = try open()
        try index.commit()
        try index.database.execute("PRAGMA user_version = 7; COMMIT")
        let error = #expect(throws: FileSystemError.self) { try test.open() }
        guard case .format(.newerVersion(found: 7, supported: 6), _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    // MARK: Rows

    private func itemRow(_ id: ItemID, _ random: inout SplitMix64) -> FactItemRow {
        var row = FactItemRow(id: id)
        func maybe<Value>(_ value: Value) -> Value? { random.oneIn(2) ? value : nil }
        let (one, other) = (EntryID(low: random.next(), high: 1), EntryID(low: 3, high: random.next()))
        row.number = maybe(Int64(random.below(1000)))
        row.first = maybe(one)
        (row.others, row.copies) = (Int64(random.below(3)), Int64(random.below(3)))
        row.attributes = Int64(random.below(3))
        if random.oneIn(2) { row.kind = [RegisterValue(stamp: stamp, assertion: .kind(row.id, .file))] }
        if random.oneIn(2) { row.mode = [RegisterValue(stamp: stamp, assertion: .mode(row.id, 0o640))] }
        if random.oneIn(8) { return row }
        var state = ItemState()
        state.isDirectory = random.oneIn(2)
        state.level = random.pick([.claimed, .previous, .root]) ?? .claimed
        state.shownEntries = random.below(3)
        state.entry = maybe(random.oneIn(2) ? one : other)
        state.united = maybe(item)
        state.kindStamp = maybe(stamp)
        state.hash = maybe([UInt8](repeating: UInt8(random.below(256)), count: StateHash.byteCount))
            .flatMap { StateHash(bytes: $0) }
        row.state = state
        return row
    }

    private func entryRow(_ id: EntryID, _ random: inout SplitMix64) throws -> FactEntryRow {
        var row = FactEntryRow(id: id)
        if random.oneIn(2) {
            let placement = Fact.Placement(
                item: item, place: try place(3, "c"), previous: nil, seenContents: [])
            row.places = [RegisterValue(stamp: stamp, assertion: .place(row.id, placement))]
        }
        if random.oneIn(8) { return row }
        let places = [
            try place(1, "a"), try place(1, "a"), try place(2, "a"), try place(1, "b"), nil,
        ]
        var state = EntryState(
            item: ItemID(low: UInt64(random.below(2)), high: 1),
            stamp: random.oneIn(2) ? stamp : Stamp(clock: 9, dot: stamp.dot))
        state.isDirectory = random.oneIn(2)
        state.isLive = random.oneIn(2)
        state.isActive = random.oneIn(2)
        state.target = random.pick(places) ?? nil
        state.place = random.pick(places) ?? nil
        state.slot = random.pick(places) ?? nil
        state.wanted = random.pick(places) ?? nil
        state.shown = random.pick(places) ?? nil
        if let taken = random.pick(places) ?? nil {
            state.taken = Showing(place: taken, item: ItemID(low: UInt64(random.below(2)), high: 1))
        }
        if random.oneIn(3) { state.copied = CopySource(item: item, dot: stamp.dot) }
        row.state = state
        row.isOther = random.oneIn(2)
        return row
    }

    @Test(arguments: Seeds.first(8))
    func rowsAreReadAsTheyWereStored(seed: UInt64) throws {
        let (test, index) = try open()
        var random = SplitMix64(seed: seed)
        var items: [ItemID: FactItemRow] = [:]
        var entries: [EntryID: FactEntryRow] = [:]
        for _ in 0..<100 {
            var itemID = ItemID(low: random.next(), high: random.next())
            var entryID = EntryID(low: random.next(), high: random.next())
            if random.oneIn(3), let old = items.keys.sorted().first { itemID = old }
            if random.oneIn(3), let old = entries.keys.sorted().first { entryID = old }
            let (item, entry) = (itemRow(itemID, &random), try entryRow(entryID, &random))
            let hashes = (try index.factItem(item.id)?.hash, try index.factEntry(entry.id)?.hash)
            #expect((hashes.0 == nil) == (items[item.id] == nil), "seed \(seed)")
            _ = try index.put(item, replacing: hashes.0)
            _ = try index.put(entry, replacing: hashes.1)
            (items[item.id], entries[entry.id]) = (item, entry)
        }
        for id in items.keys.sorted().prefix(20) {
            guard let hash = try index.factItem(id)?.hash else { continue }
            try index.removeFactItem(id, hash)
            items[id] = nil
        }
        for id in entries.keys.sorted().prefix(20) {
            guard let hash = try index.factEntry(id)?.hash else { continue }
            try index.removeFactEntry(id, hash)
            entries[id] = nil
        }
        try index.commit()
        for (id, row) in items { #expect(try index.factItem(id)?.row == row, "seed \(seed)") }
        for (id, row) in entries { #expect(try index.factEntry(id)?.row == row, "seed \(seed)") }
        try expectLookups(index, entries, seed)
        // These rows are inconsistent, but the sums must match.
        let problems = try index.makeReader().problems()
        #expect(!problems.contains { $0.contains("missing, duplicated") }, "seed \(seed): \(problems)")
        _ = test
    }

    private func expectLookups(_ index: Index, _ entries: [EntryID: FactEntryRow], _ seed: UInt64) throws {
        func ids(_ isWanted: (FactEntryRow) -> Bool) -> [EntryID] {
            entries.values.filter(isWanted).map(\.id).sorted()
        }
        for parent in [UInt64(1), 2].map({ ItemID(low: $0, high: 7) }) {
            let placed = ids { $0.state?.place?.parent == parent }
            #expect(try index.factEntries(placedIn: parent, after: nil, limit: 1000) == placed)
            let third = placed.count / 3
            let last = placed.dropFirst(third).first
            let next = last == nil ? [] : placed.dropFirst(third + 1).prefix(5)
            #expect(
                try index.factEntries(placedIn: parent, after: last, limit: 5) == Array(next), "seed \(seed)")
            #expect(
                try index.hasActiveFactEntries(placedIn: parent)
                    == placed.contains { entries[$0]?.state?.isActive == true })
            #expect(
                try index.orphanedFactEntries(of: parent)
                    == ids { $0.state?.target?.parent == parent && $0.state?.place?.parent != parent },
                "seed \(seed)")
        }
        let here = try place(1, "a")
        #expect(
            try index.factEntries(inSlot: here).sorted() == ids { $0.state?.slot == here }, "seed \(seed)")
        #expect(
            try index.factEntries(wanting: here).sorted() == ids { $0.state?.wanted == here }, "seed \(seed)")
        #expect(
            try index.factEntries(shownElsewhereAt: here).sorted()
                == ids { $0.state?.shown == here && $0.state?.slot != here }, "seed \(seed)")
        #expect(
            try Set(index.factEntries(shownIn: here.parent, after: nil, limit: 1000))
                == Set(ids { $0.state?.shown?.parent == here.parent }), "seed \(seed)")
        let changed = ids { $0.state?.taken != $0.state?.showing }
        #expect(try index.changedFactEntries(limit: 1000) == changed, "seed \(seed)")
    }

    @Test func identifiersSortAsTheyCompare() throws {
        let (_, index) = try open()
        let ids = [EntryID(low: 256, high: 0), EntryID(low: 1, high: 1 << 8), EntryID(low: 2, high: 1 << 40)]
        for id in ids.reversed() {
            var row = FactEntryRow(id: id)
            row.state = EntryState(item: item, stamp: stamp)
            row.state?.place = try place(1, "a")
            _ = try index.put(row, replacing: nil)
        }
        #expect(try index.factEntries(placedIn: ItemID(low: 1, high: 7), after: nil, limit: 9) == ids)
    }

    // MARK: Changes that bypass the sums

    @Test(arguments: [
        "DELETE FROM fact_items", "UPDATE fact_items SET number = 7", "UPDATE fact_items SET others = 1",
        "DELETE FROM fact_entries", "UPDATE fact_entries SET facts = x'00'",
        "UPDATE fact_entries SET slot_name = x'62'",
        "DELETE FROM fact_attributes", "UPDATE logs SET sequence = 1", "UPDATE fact_state SET clock = 9",
        "DELETE FROM fact_state", "DELETE FROM journal", "UPDATE journal SET record = x'01'",
        "DELETE FROM unsent", "INSERT INTO unsent VALUES (9)",
    ])
    func aRowThatWasChangedIsReported(sql: String) throws {
        let (test, index) = try open()
        var itemRow = FactItemRow(id: item)
        (itemRow.first, itemRow.attributes) = (entry, 1)
        itemRow.state = ItemState()
        itemRow.state?.shownEntries = 1
        var row = FactEntryRow(id: entry)
        var state = EntryState(item: item, stamp: stamp)
        let here = try place(1, "a")
        (state.slot, state.shown, state.place) = (here, here, here)
        (state.isLive, state.isActive) = (true, true)
        row.state = state
        _ = try index.put(itemRow, replacing: nil)
        _ = try index.put(row, replacing: nil)
        try index.setAttributeFacts([1], of: item, to: [2], replacing: nil)
        try index.put(LogRow(id: stamp.dot.log, sequence: 5, label: "laptop"), replacing: nil)
        try index.appendToJournal([4, 5])
        try index.noteUnsent(3)
        try index.commit()
        #expect(try index.makeReader().problems() == [])
        try index.database.execute("\(sql); COMMIT")
        #expect(try !index.makeReader().problems().isEmpty)
        _ = test
    }

    // MARK: Journal

    @Test func theJournalIsReadInPagesAndRemovedFromItsBeginning() throws {
        let (test, index) = try open()
        for number in 1...1000 {
            #expect(try index.appendToJournal([UInt8(number % 256)]) == Int64(number))
        }
        #expect(try index.journal(after: 0, limit: 2).map(\.number) == [1, 2])
        #expect(try index.journal(after: 998, limit: 5).map(\.record) == [[231], [232]])
        try index.removeJournal(upTo: 700)
        #expect(try index.journal(after: 0, limit: 1).map(\.number) == [701])
        try index.removeJournal(upTo: 1000)
        try index.removeJournal(upTo: 1000)
        #expect(try index.journal(after: 0, limit: 1) == [])
        try index.close()
        let again = try test.open()
        #expect(try again.appendToJournal([1]) == 1001)
        try again.commit()
        #expect(try again.makeReader().problems() == [])
    }

    @Test func unsentItemsAreNotedOnce() throws {
        let (_, index) = try open()
        for number in [7, 3, 7, 900, 5] as [Int64] { try index.noteUnsent(number) }
        #expect(try index.unsentItems(after: 3, limit: 2) == [5, 7])
        try index.removeUnsent(5)
        try index.removeUnsent(6)
        #expect(try index.unsentItems(after: 0, limit: 9) == [3, 7, 900])
        try index.removeUnsent(upTo: 7)
        #expect(try index.unsentItems(after: 0, limit: 9) == [900])
        try index.commit()
        #expect(try index.makeReader().problems() == [])
    }
}
