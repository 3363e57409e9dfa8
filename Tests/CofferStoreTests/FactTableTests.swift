import CofferFormat
import CofferTestSupport
import Testing

@testable import CofferStore

/// The tables of facts: what is stored is read, and what is changed around the sums is noticed.
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

    @Test func theyAreMadeOnceAndStay() throws {
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

    @Test func whatWasNotCommittedIsNotThere() throws {
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
        #expect(throws: StoreError.self) { try test.open() }
    }

    @Test func aNewerIndexIsRefused() throws {
        let (test, index) = try open()
        try index.commit()
        try index.database.execute("PRAGMA user_version = 3; COMMIT")
        let error = #expect(throws: StoreError.self) { try test.open() }
        guard case .format(.newerVersion(found: 3, supported: 2), _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    // MARK: Rows

    private func itemRow(_ random: inout SplitMix64) -> FactItemRow {
        var row = FactItemRow(id: ItemID(low: random.next(), high: random.next()))
        func maybe<Value>(_ value: Value) -> Value? { random.oneIn(2) ? value : nil }
        let (one, other) = (EntryID(low: random.next(), high: 1), EntryID(low: 3, high: random.next()))
        row.number = maybe(Int64(random.below(1000)))
        for flag in [FactItemRow.Flags.state, .directory, .previous, .root] where random.oneIn(2) {
            row.flags.insert(flag)
        }
        (row.shown, row.others) = (Int64(random.below(3)), Int64(random.below(3)))
        (row.copies, row.attributes) = (Int64(random.below(3)), Int64(random.below(3)))
        row.first = maybe(one)
        row.entry = maybe(random.oneIn(2) ? one : other)
        row.united = maybe(item)
        row.kindStamp = random.pick([.none, .last, .other(stamp)]) ?? .none
        row.hash = maybe([UInt8](repeating: UInt8(random.below(256)), count: 32))
        row.facts = [UInt8](repeating: 3, count: random.below(300))
        return row
    }

    private func entryRow(_ random: inout SplitMix64) throws -> FactEntryRow {
        var row = FactEntryRow(id: EntryID(low: random.next(), high: random.next()))
        row.facts = [UInt8](repeating: 3, count: random.below(300))
        if random.oneIn(8) { return row }
        let places = [
            try place(1, "a"), try place(1, "a"), try place(2, "a"), try place(1, "b"), nil,
        ]
        row.item = ItemID(low: UInt64(random.below(2)), high: 1)
        row.flags.insert(.state)
        for flag in [FactEntryRow.Flags.directory, .live, .active, .other] where random.oneIn(2) {
            row.flags.insert(flag)
        }
        row.stamp = random.oneIn(2) ? .last : .other(stamp)
        row.target = random.pick(places) ?? nil
        row.place = random.pick(places) ?? nil
        row.slot = random.pick(places) ?? nil
        row.wanted = random.pick(places) ?? nil
        row.shown = random.pick(places) ?? nil
        row.taken = random.pick(places) ?? nil
        if row.taken != nil { row.takenItem = ItemID(low: UInt64(random.below(2)), high: 1) }
        if random.oneIn(3) { (row.copied, row.copiedDot) = (item, stamp.dot) }
        return row
    }

    @Test(arguments: Seeds.first(8))
    func rowsAreReadAsTheyWereStored(seed: UInt64) throws {
        let (test, index) = try open()
        var random = SplitMix64(seed: seed)
        var items: [ItemID: FactItemRow] = [:]
        var entries: [EntryID: FactEntryRow] = [:]
        for _ in 0..<100 {
            var (item, entry) = (itemRow(&random), try entryRow(&random))
            if random.oneIn(3), let old = items.keys.sorted().first { item.id = old }
            if random.oneIn(3), let old = entries.keys.sorted().first { entry.id = old }
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
        // These rows do not fit each other, but the sums must.
        let problems = try index.makeReader().problems()
        #expect(!problems.contains { $0.contains("missing, duplicated") }, "seed \(seed): \(problems)")
        _ = test
    }

    private func expectLookups(_ index: Index, _ entries: [EntryID: FactEntryRow], _ seed: UInt64) throws {
        func ids(_ isWanted: (FactEntryRow) -> Bool) -> [EntryID] {
            entries.values.filter(isWanted).map(\.id).sorted()
        }
        for parent in [UInt64(1), 2].map({ ItemID(low: $0, high: 7) }) {
            let placed = ids { $0.place?.parent == parent }
            #expect(try index.factEntries(placedIn: parent, after: nil, limit: 1000) == placed)
            let third = placed.count / 3
            let last = placed.dropFirst(third).first
            let next = last == nil ? [] : placed.dropFirst(third + 1).prefix(5)
            #expect(
                try index.factEntries(placedIn: parent, after: last, limit: 5) == Array(next), "seed \(seed)")
            #expect(
                try index.hasActiveFactEntries(placedIn: parent)
                    == placed.contains { entries[$0]?.flags.contains(.active) == true })
            #expect(
                try index.orphanedFactEntries(of: parent)
                    == ids { $0.target?.parent == parent && $0.place?.parent != parent }, "seed \(seed)")
        }
        let here = try place(1, "a")
        #expect(try index.factEntries(inSlot: here).sorted() == ids { $0.slot == here }, "seed \(seed)")
        #expect(
            try index.factEntries(wanting: here).sorted() == ids { $0.wanted == here }, "seed \(seed)")
        #expect(
            try index.factEntries(shownElsewhereAt: here).sorted()
                == ids { $0.shown == here && $0.slot != here }, "seed \(seed)")
        #expect(
            try Set(index.factEntries(shownIn: here.parent, after: nil, limit: 1000))
                == Set(ids { $0.shown?.parent == here.parent }), "seed \(seed)")
        let changed = ids { $0.taken != $0.shown || $0.takenItem != ($0.shown == nil ? nil : $0.item) }
        #expect(try index.changedFactEntries(limit: 1000) == changed, "seed \(seed)")
    }

    @Test func identifiersSortAsTheyCompare() throws {
        let (_, index) = try open()
        let ids = [EntryID(low: 256, high: 0), EntryID(low: 1, high: 1 << 8), EntryID(low: 2, high: 1 << 40)]
        for id in ids.reversed() {
            var row = FactEntryRow(id: id)
            (row.item, row.place) = (item, try place(1, "a"))
            row.flags = .state
            _ = try index.put(row, replacing: nil)
        }
        #expect(try index.factEntries(placedIn: ItemID(low: 1, high: 7), after: nil, limit: 9) == ids)
    }

    // MARK: What was changed around the sums

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
        (itemRow.first, itemRow.shown, itemRow.attributes) = (entry, 1, 1)
        var row = FactEntryRow(id: entry)
        (row.item, row.slot, row.shown, row.place) = (
            item, try place(1, "a"), try place(1, "a"), try place(1, "a")
        )
        row.flags = [.state, .live, .active]
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
