import CofferFacts
import CofferFormat
import FactHistories
import Testing

/// Commits that no correct device makes.
@Suite struct RefusalTests {
    private let file = ItemID(low: 1, high: 1)
    private let directory = ItemID(low: 2, high: 1)
    private let entry = EntryID(low: 1, high: 2)
    private let log = LogID(low: 5, high: 5)

    private func place(_ parent: ItemID) throws -> Place {
        Place(parent: parent, name: try #require(EntryName("x".utf8)))
    }

    private func commit(_ sequence: UInt64, _ facts: [Fact]) -> FactCommit {
        FactCommit(
            stamp: Stamp(clock: sequence << 16, dot: Dot(log: log, sequence: sequence)),
            versions: VersionVector(), label: nil, facts: facts)
    }

    @Test func refusals() throws {
        let unseen = Dot(log: LogID(low: 6, high: 6), sequence: 1)
        let own = Dot(log: log, sequence: 2)
        let cases: [([Fact], FactRefusal?)] = [
            ([Fact(.mode(file, 1)), Fact(.mode(file, 2))], .saidTwice(.mode(file))),
            ([Fact(.mode(file, 1), replaces: [unseen])], .unseenCommit(.mode(file), unseen)),
            ([Fact(.mode(file, 1), replaces: [own])], .unseenCommit(.mode(file), own)),
            ([Fact(.mode(file, 1), replaces: [Dot(log: log, sequence: 1)])], nil),
            ([Fact(.kind(rootID, .file))], .aboutRoot(.kind(rootID))),
            (
                [Fact(.place(entry, .init(item: rootID, place: try place(file), previous: nil)))],
                .aboutRoot(.place(entry))
            ),
            (
                [Fact(.place(entry, .init(item: file, place: try place(file), previous: nil)))],
                .intoItself(entry)
            ),
            (
                [
                    Fact(
                        .place(
                            entry,
                            .init(item: file, place: nil, previous: try place(rootID), seenContents: [unseen])
                        ))
                ],
                .unseenCommit(.place(entry), unseen)
            ),
            ([Fact(.mode(rootID, 0o700))], nil),
        ]
        for (facts, refusal) in cases { #expect(commit(2, facts).refusal(root: rootID) == refusal) }
        #expect(commit(0, []).refusal(root: rootID) == .noSequence)
    }

    @Test("Odd facts are reported, and applied all the same")
    func complaints() throws {
        var replica = Replica(number: 1, label: "laptop")
        let first = commit(
            1,
            [
                Fact(.kind(file, .file)), Fact(.kind(directory, .directory)),
                Fact(.place(entry, .init(item: file, place: try place(rootID), previous: nil))),
                Fact(
                    .place(
                        EntryID(low: 2, high: 2),
                        .init(item: directory, place: try place(rootID), previous: nil))),
            ])
        #expect(replica.tree.complaints(about: first) == [])
        _ = replica.apply(first)
        let nobody = ItemID(low: 9, high: 9)
        let second = EntryID(low: 3, high: 3)
        let odd: [(Fact.Assertion, FactComplaint)] = [
            (.kind(file, .fifo), .kindChanged(file)),
            (.mode(nobody, 1), .unknownItem(nobody, .mode(nobody))),
            (.content(directory, .init(bytes: [], size: 0)), .contentOfNoFile(directory)),
            (
                .place(entry, .init(item: file, place: try place(nobody), previous: nil)),
                .unknownParent(entry, nobody)
            ),
            (
                .place(second, .init(item: directory, place: try place(file), previous: nil)),
                .secondEntry(second, directory)
            ),
            (
                .place(entry, .init(item: directory, place: nil, previous: try place(rootID))),
                .itemChanged(entry, directory)
            ),
        ]
        for (assertion, complaint) in odd {
            #expect(replica.tree.complaints(about: commit(2, [Fact(assertion)])).first == complaint)
        }
        let nonsense = commit(2, [Fact(.kind(file, .directory)), Fact(odd[4].0)])
        guard case .applied = replica.apply(nonsense) else {
            Issue.record("it was not applied")
            return
        }
        #expect(replica.shownTree() == replica.evaluatedTree())
        #expect(replica.shownTree().flaw == nil)
    }
}
