import CofferFacts
import CofferFormat
import FactHistories
import Testing

/// Many changes in one commit.
@Suite struct PendingCommitTests {
    private let item = ItemID(low: 1, high: 1)
    private let entry = EntryID(low: 1, high: 2)
    private var replica = Replica(number: 1, label: "laptop")

    private func place(_ name: String) throws -> Place {
        Place(parent: rootID, name: try #require(EntryName(name.utf8)))
    }

    private func content(_ byte: UInt8) -> Fact.Content { .init(bytes: [byte], size: 1) }

    private mutating func perform(_ changes: LocalChange...) throws {
        for change in changes { try replica.perform(change, milliseconds: 1000) }
    }

    private func create(_ name: String) throws -> LocalChange {
        .create(item, .file, mode: 0o600, modified: 1, entry, at: try place(name))
    }

    @Test("Ten thousand writes are one fact")
    mutating func writes() throws {
        try perform(create("a"))
        replica.commit()
        for number in 0..<10_000 { try perform(.setContent(item, content(UInt8(number % 256)))) }
        replica.commit()
        #expect(replica.commits.last?.facts == [Fact(.content(item, content(UInt8(9999 % 256))))])
    }

    @Test("A file that was made and removed leaves no facts")
    mutating func nothing() throws {
        try perform(
            create("a"), .setContent(item, content(1)), .setMode(item, 0o644),
            .setExtendedAttribute(item, name: [1], value: [2]), .move(entry, to: place("b")), .remove(entry))
        replica.commit()
        #expect(replica.commits.isEmpty)
        #expect(replica.shownTree() == ShownTree())
        #expect(replica.tree.stateHash() == StateHash.zero)
        #expect(replica.tree.store.allValues.isEmpty)
        #expect(replica.take(limit: 10).isEmpty)
    }

    @Test("A file with two new names, one of which is removed")
    mutating func names() throws {
        let second = EntryID(low: 5, high: 5)
        try perform(create("a"), .link(item, second, at: place("b")), .remove(entry))
        replica.commit()
        #expect(replica.commits.first?.facts.map(\.register).contains(.place(entry)) == false)
        #expect(replica.shownTree().entries[second]?.item == item)
    }

    @Test("Several moves are one move, from the place that others know")
    mutating func moves() throws {
        try perform(create("a"))
        replica.commit()
        try perform(.move(entry, to: place("b")), .move(entry, to: place("c")))
        replica.commit()
        let placement = Fact.Placement(item: item, place: try place("c"), previous: try place("a"))
        let first = try #require(replica.commits.first).stamp.dot
        #expect(replica.commits.last?.facts == [Fact(.place(entry, placement), replaces: [first])])
    }

    @Test("A removal states what its author had seen")
    mutating func removal() throws {
        try perform(create("a"), .setContent(item, content(1)))
        replica.commit()
        try perform(.remove(entry))
        replica.commit()
        let first = try #require(replica.commits.first).stamp.dot
        let placement = Fact.Placement(
            item: item, place: nil, previous: try place("a"), seenContents: [first])
        #expect(replica.commits.last?.facts == [Fact(.place(entry, placement), replaces: [first])])
    }

    @Test("Of several names removed in one commit, the last comes back", arguments: [true, false])
    mutating func removals(isFirstLast: Bool) throws {
        let second = EntryID(low: 5, high: 5)
        try perform(create("a"), .setContent(item, content(1)), .link(item, second, at: place("b")))
        replica.commit()
        var other = Replica(number: 2, label: "other")
        _ = other.apply(try #require(replica.commits.first))
        try other.perform(.setContent(item, content(2)), milliseconds: 2000)
        other.commit()
        let entries = isFirstLast ? [second, entry] : [entry, second]
        for entry in entries { try perform(.remove(entry)) }
        replica.commit()
        _ = replica.apply(try #require(other.commits.first))
        #expect(replica.shownTree().entries.keys.map { $0 } == [entries[1]])
        #expect(replica.shownTree() == replica.evaluatedTree())
    }

    @Test("A commit follows all commits that its author had applied")
    mutating func clock() throws {
        var other = Replica(number: 2, label: "other")
        try other.perform(create("a"), milliseconds: 9_000_000)
        other.commit()
        let theirs = try #require(other.commits.first)
        #expect(theirs.label == "other")
        #expect(
            replica.apply(theirs)
                == .applied([ItemChange(item: item, attributes: [.kind, .mode, .modified])]))
        try perform(.setMode(item, 0o700))
        replica.commit()
        let ours = try #require(replica.commits.first)
        #expect(ours.stamp > theirs.stamp)
        #expect(ours.versions.contains(theirs.stamp.dot))
        #expect(ours.facts == [Fact(.mode(item, 0o700), replaces: [theirs.stamp.dot])])

        var third = Replica(number: 3, label: "third")
        #expect(third.apply(ours) == .early(missing: theirs.stamp.dot.log))
        #expect(third.shownTree() == ShownTree())
        #expect(other.apply(ours) == .applied([ItemChange(item: item, attributes: [.mode])]))
        #expect(other.apply(ours) == .known)
    }

    @Test("Changes that the tree does not allow are refused, and have no effect")
    mutating func refusals() throws {
        let directory = ItemID(low: 2, high: 1)
        let itsEntry = EntryID(low: 2, high: 2)
        let name = try #require(EntryName("x".utf8))
        try perform(
            .create(directory, .directory, mode: 0o700, modified: 1, itsEntry, at: place("d")),
            .create(item, .file, mode: 0o600, modified: 1, entry, at: Place(parent: directory, name: name)))
        let before = replica.shownTree()
        let new = EntryID(low: 9, high: 9)
        let nobody = ItemID(low: 9, high: 9)
        let inside = Place(parent: directory, name: try #require(EntryName("y".utf8)))
        let cases: [(LocalChange, LocalChangeRefusal)] = [
            (try create("a"), .exists),
            (.link(directory, new, at: try place("e")), .wrongKind(directory)),
            (.link(item, new, at: try place("d")), .nameTaken(try place("d"))),
            (.link(item, new, at: Place(parent: item, name: name)), .noDirectory(item)),
            (.move(new, to: try place("e")), .entryNotShown(new)),
            (.move(itsEntry, to: inside), .intoItself(directory)),
            (.move(entry, to: try place("d")), .nameTaken(try place("d"))),
            (.exchange(itsEntry, entry), .intoItself(directory)),
            (.remove(itsEntry), .directoryNotEmpty(directory)),
            (.setContent(directory, content(1)), .wrongKind(directory)),
            (.setMode(nobody, 1), .itemNotShown(nobody)),
        ]
        for (change, refusal) in cases {
            do {
                try perform(change)
                Issue.record("\(change) was made")
            } catch LocalChangeError<Never>.refused(let found) {
                #expect(found == refusal)
            }
        }
        #expect(replica.shownTree() == before)
    }
}
