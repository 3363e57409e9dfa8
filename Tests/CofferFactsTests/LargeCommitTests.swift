import CofferFacts
import CofferFormat
import FactHistories
import Testing

/// Commits that are large, deep or tangled: the work to apply them is proportional to their facts.
@Suite struct LargeCommitTests {
    private var replica = FactReplica(number: 9, label: "i", store: CountedFactStore(seed: 0))

    private func item(_ number: Int, _ log: UInt64 = 1) -> ItemID { ItemID(low: UInt64(number), high: log) }
    private func entry(_ number: Int, _ log: UInt64 = 1) -> EntryID {
        EntryID(low: UInt64(number), high: log)
    }

    /// The place of the entry of an item with the same number; item 0 is the root.
    private func place(
        _ number: Int, in parent: Int?, was previous: Int? = nil, log: UInt64 = 1, name: String = "a"
    ) -> Fact {
        guard let name = EntryName(name.utf8) else { preconditionFailure() }
        func place(_ parent: Int) -> Place {
            Place(parent: parent == 0 ? rootID : item(parent, log), name: name)
        }
        return Fact(
            .place(
                entry(number, log),
                .init(item: item(number, log), place: parent.map(place), previous: previous.map(place))))
    }

    private func commit(
        _ facts: [Fact], log: UInt64 = 1, sequence: UInt64 = 1, seen: VersionVector = VersionVector()
    ) -> FactCommit {
        let log = LogID(low: log, high: 7)
        let seen =
            seen.sequences.map { Dot(log: $0.key, sequence: $0.value) } + [
                Dot(log: log, sequence: sequence - 1)
            ]
        return FactCommit(
            stamp: Stamp(clock: sequence << 20, dot: Dot(log: log, sequence: sequence)),
            versions: VersionVector(), label: sequence == 1 ? "l" : nil,
            facts: facts.map { fact in
                var fact = fact
                if sequence > 1 { fact.replaces = seen.filter { $0.sequence > 0 }.sorted() }
                return fact
            })
    }

    /// Applies a commit.
    ///
    /// - Returns: Calls of the store for each fact.
    private mutating func apply(_ commit: FactCommit) throws -> Int {
        let before = replica.tree.store.calls
        guard case .applied = replica.apply(commit) else { throw Flaw(description: "not applied") }
        return (replica.tree.store.calls - before) / commit.facts.count
    }

    private mutating func expectOracle() throws {
        let (tree, evaluated) = (replica.shownTree(), replica.evaluatedTree())
        // The trees themselves are too large to be printed.
        let isEqual = tree == evaluated
        let hashIsEqual = tree.hash(hashKey) == replica.tree.stateHash()
        #expect(isEqual && hashIsEqual)
    }

    /// Nested directories.
    private func chain(_ count: Int, log: UInt64 = 1) -> [Fact] {
        (1...count).flatMap {
            [Fact(.kind(item($0, log), .directory)), place($0, in: $0 - 1, log: log)]
        }
    }

    @Test("Ten thousand levels; removed while another user writes at the bottom; written to again")
    mutating func deep() throws {
        let count = 10_000
        #expect(try apply(commit(chain(count))) < 60)
        try expectOracle()
        let removal = (1...count).map { place($0, in: nil, was: $0 - 1) }
        #expect(try apply(commit(removal, sequence: 2)) < 120)
        #expect(replica.shownTree().entries.isEmpty)
        let file = [Fact(.kind(item(1, 2), .file)), Fact(.mode(item(1, 2), 0o600))]
        let name = Place(parent: item(count), name: try #require(EntryName("f".utf8)))
        let created = Fact(.place(entry(1, 2), .init(item: item(1, 2), place: name, previous: nil)))
        _ = try apply(commit(file + [created], log: 2))
        #expect(replica.shownTree().entries.count == count + 1)
        try expectOracle()
        try replica.perform(.remove(entry(1, 2)), milliseconds: 1 << 20)
        #expect(replica.shownTree().entries.count == count)
        try expectOracle()
    }

    @Test("Two deep trees of the same names are one, until one of them is moved")
    mutating func united() throws {
        let count = 600
        _ = try apply(commit(chain(count)))
        #expect(try apply(commit(chain(count, log: 2), log: 2)) < 80)
        #expect(replica.shownTree().entries.count == count)
        try expectOracle()
        let move = [place(1, in: 0, was: 0, name: "b"), Fact(.mode(item(1), 0o700))]
        _ = try apply(commit(move, sequence: 2))
        #expect(replica.shownTree().entries.count == 2 * count)
        try expectOracle()
    }

    @Test(
        "A deep tree that is shown though it was removed, as a part of another: stating it says all its levels"
    )
    mutating func kept() throws {
        let count = 600
        _ = try apply(commit(chain(count)))
        _ = try apply(commit(chain(count, log: 2), log: 2))
        _ = try apply(
            commit((1...count).map { place($0, in: nil, was: $0 - 1, log: 2) }, log: 2, sequence: 2))
        let name = Place(parent: item(count, 2), name: try #require(EntryName("f".utf8)))
        let file = [
            Fact(.kind(item(1, 3), .file)),
            Fact(.place(entry(1, 3), .init(item: item(1, 3), place: name, previous: nil))),
        ]
        _ = try apply(commit(file, log: 3))
        let before = replica.shownTree()
        try replica.perform(
            .move(entry(1, 3), to: Place(parent: rootID, name: name.name)), milliseconds: 1 << 20)
        replica.commit()
        let facts = try #require(replica.commits.last?.facts)
        #expect(facts.count > count)
        var wanted = before
        wanted.entries[entry(1, 3)]?.place = Place(parent: rootID, name: name.name)
        let isWanted = replica.shownTree() == wanted
        #expect(isWanted)
        try expectOracle()
    }

    @Test("A ring, and rings that return with each directory that is put back")
    mutating func rings() throws {
        let count = 600
        let long = (1...count).flatMap {
            [Fact(.kind(item($0), .directory)), place($0, in: $0 == 1 ? count + 1 : $0 - 1)]
        }
        // The first of these is at the end of the ring, and each one is in the next when it is put back.
        let high = (count + 1...2 * count).flatMap {
            [
                Fact(.kind(item($0), .directory)),
                place($0, in: count, was: $0 < 2 * count ? $0 + 1 : count),
            ]
        }
        #expect(try apply(commit(long + high)) < 80)
        #expect(replica.shownTree().entries.count == 2 * count)
        #expect(replica.tree.store.putBackDirectories().count >= count)
        try expectOracle()
        #expect(
            try apply(commit([place(1, in: 0, was: 0)] + high.filter { $0.replaces.isEmpty }, sequence: 2))
                < 80)
        try expectOracle()
    }

    @Test("Many names of one file, and many files of one name")
    mutating func wide() throws {
        let count = 600
        let names = (1...count).map { number in
            Fact(
                .place(
                    entry(number),
                    .init(
                        item: item(1),
                        place: Place(parent: rootID, name: EntryName("n\(number)".utf8) ?? name("n")),
                        previous: nil)))
        }
        #expect(try apply(commit([Fact(.kind(item(1), .file))] + names)) < 80)
        try expectOracle()
        let files = (1...count).flatMap { [Fact(.kind(item($0, 2), .file)), place($0, in: 0, log: 2)] }
        #expect(try apply(commit(files, log: 2)) < 80)
        try expectOracle()
        #expect(replica.shownTree().entries.count == 2 * count)
    }

    private func name(_ text: String) -> EntryName {
        guard let name = EntryName(text.utf8) else { preconditionFailure() }
        return name
    }
}
