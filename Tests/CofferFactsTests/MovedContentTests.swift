import CofferFacts
import CofferFormat
import FactHistories
import Testing

/// Facts that state where the bytes of a content lie now.
@Suite struct MovedContentTests {
    private let item = ItemID(low: 5, high: 5), entry = EntryID(low: 6, high: 6)
    private let time: UInt64 = 1_795_000_000_000

    /// Some devices that have the same file with a content.
    private func devices(_ count: Int) throws -> [Replica] {
        var devices = (0..<count).map { Replica(number: UInt64($0) + 1, label: "device \($0)") }
        let place = Place(parent: rootID, name: try #require(EntryName("a".utf8)))
        try devices[0].perform(
            .create(item, .file, mode: 0o644, modified: 1, entry, at: place), milliseconds: time)
        try devices[0].perform(.setContent(item, content("old")), milliseconds: time)
        devices[0].commit()
        exchange(&devices)
        return devices
    }

    private func content(_ text: String) -> Fact.Content {
        Fact.Content(bytes: Array(text.utf8), size: UInt64(text.utf8.count))
    }

    /// Delivers all commits; the logs in turn, or those of later devices first.
    private func exchange(_ devices: inout [Replica], isReversed: Bool = false) {
        for index in devices.indices { devices[index].commit() }
        let logs = devices.map(\.commits)
        var isBusy = true
        while isBusy {
            isBusy = false
            for index in devices.indices {
                for log in isReversed ? logs.reversed() : logs {
                    for commit in log where devices[index].apply(commit) != .known {
                        isBusy = true
                    }
                }
            }
        }
    }

    /// What each device shows: the values of all contents, those of copies after the others.
    private func shown(_ devices: inout [Replica]) throws -> [String] {
        var all: [[String]] = []
        for index in devices.indices {
            let tree = devices[index].shownTree()
            #expect(tree == devices[index].evaluatedTree())
            all.append(
                tree.entries.values.sorted { $0.place < $1.place }.map {
                    String(decoding: tree.items[$0.item]?.content?.bytes ?? [], as: UTF8.self)
                })
            #expect(devices[index].tree.store.allValues == devices[0].tree.store.allValues)
            #expect(devices[index].tree.stateHash() == devices[0].tree.stateHash())
        }
        #expect(Set(all).count == 1)
        return try #require(all.first)
    }

    @Test func aContentMoves() throws {
        var devices = try devices(2)
        _ = devices[1].move(item, milliseconds: time)
        exchange(&devices)
        #expect(try shown(&devices) == ["old@2/1"])
        _ = devices[0].move(item, milliseconds: time)
        exchange(&devices)
        #expect(try shown(&devices) == ["old@1/2"])
        // Only the last place is remembered.
        #expect(devices[0].tree.store.values(.content(item)).count == 2)
    }

    /// A change that knows nothing of the move replaces the content, and nothing is in conflict.
    @Test(arguments: [false, true])
    func aChangeWinsOverAMove(isReversed: Bool) throws {
        var devices = try devices(2)
        _ = devices[1].move(item, milliseconds: time + 1_000_000)
        try devices[0].perform(.setContent(item, content("new")), milliseconds: time)
        exchange(&devices, isReversed: isReversed)
        #expect(try shown(&devices) == ["new"])
        #expect(devices[0].tree.store.values(.content(item)).count == 1)
    }

    @Test(arguments: [false, true])
    func theLaterOfTwoMovesCounts(isReversed: Bool) throws {
        var devices = try devices(3)
        _ = devices[1].move(item, milliseconds: time + 2)
        _ = devices[2].move(item, milliseconds: time + 1)
        exchange(&devices, isReversed: isReversed)
        #expect(try shown(&devices) == ["old@2/1"])
    }

    /// The names and ids of a copy follow from the commit that stated its content, wherever its bytes are.
    @Test func aContentInConflictMoves() throws {
        var devices = try devices(2)
        try devices[0].perform(.setContent(item, content("one")), milliseconds: time + 1)
        try devices[1].perform(.setContent(item, content("two")), milliseconds: time + 2)
        exchange(&devices)
        let before = devices[0].shownTree().entries
        #expect(try shown(&devices) == ["two", "one"])
        _ = devices[0].move(item, milliseconds: time)
        exchange(&devices)
        #expect(try shown(&devices).first?.hasPrefix("two@1/") == true)
        #expect(devices[0].shownTree().entries == before)
    }

    /// Two devices stated the same content, and the one that counts moves: it stays one content.
    @Test func aContentThatWasStatedTwiceMoves() throws {
        var devices = try devices(2)
        try devices[0].perform(.setContent(item, content("same")), milliseconds: time + 1)
        try devices[1].perform(.setContent(item, content("same")), milliseconds: time + 2)
        exchange(&devices)
        _ = devices[0].move(item, milliseconds: time)
        exchange(&devices)
        let shown = try shown(&devices)
        #expect(shown.count == 1 && shown[0].hasPrefix("same@1/"))
    }

    /// A hostile writer replaces the place of a content, and not the content: that has no effect, in any order.
    @Test(arguments: [[1, 2, 3], [1, 3, 2], [2, 1, 3]])
    func aPlaceAloneIsNotReplaced(order: [Int]) throws {
        let devices = try devices(1)
        var device = devices[0]
        func commit(_ log: UInt64, _ clock: UInt64, _ fact: Fact, seen: [Dot] = []) -> FactCommit {
            var versions = VersionVector()
            versions[LogID(low: 1, high: 7)] = 1
            for dot in seen { versions[dot.log] = dot.sequence }
            return FactCommit(
                stamp: Stamp(
                    clock: (time + clock) << 16, dot: Dot(log: LogID(low: log, high: 7), sequence: 1)),
                versions: versions, label: "x", facts: [fact])
        }
        let stated = Dot(log: LogID(low: 1, high: 7), sequence: 1)
        let first = Dot(log: LogID(low: 11, high: 7), sequence: 1)
        let commits = [
            commit(11, 20, Fact(.moved(item, of: stated, bytes: Array("old@1".utf8)))),
            commit(12, 10, Fact(.moved(item, of: stated, bytes: Array("old@2".utf8)))),
            commit(13, 30, Fact(.content(item, nil), replaces: [first]), seen: [first]),
        ]
        for number in order { _ = device.apply(commits[number - 1]) }
        #expect(device.shownTree().items[item]?.content?.bytes == Array("old@1".utf8))
        #expect(device.tree.store.values(.content(item)).count == 2)
    }

    /// A file of which a removal has seen the content stays removed when the content moves.
    @Test(arguments: [false, true])
    func aRemovalWinsOverAMove(isReversed: Bool) throws {
        var devices = try devices(2)
        _ = devices[1].move(item, milliseconds: time + 1_000_000)
        try devices[0].perform(.remove(entry), milliseconds: time)
        exchange(&devices, isReversed: isReversed)
        #expect(try shown(&devices) == [])
    }

    /// A device that begins with a checkpoint has the same values as the others.
    @Test func checkpointsHaveThePlaces() throws {
        var devices = try devices(2)
        _ = devices[1].move(item, milliseconds: time)
        exchange(&devices)
        var late = FactTree(store: MemoryFactStore(), root: rootID, hashKey: hashKey)
        late.beginCheckpoint(
            devices[0].tree.store.versions(), clock: devices[0].tree.store.clock(),
            labels: devices[0].tree.store.allLabels)
        let values = devices[0].tree.store.allValues.values.flatMap(\.self)
        for (stamp, group) in Dictionary(grouping: values, by: \.stamp).sorted(by: { $1.key < $0.key }) {
            _ = late.add(CheckpointPiece.Group(stamp: stamp, facts: group.map { Fact($0.assertion) }))
        }
        #expect(late.stateHash() == devices[0].tree.stateHash())
        #expect(late.shownItem(item)?.content?.bytes == Array("old@2/1".utf8))
    }

    @Test func itsFormIsChecked() throws {
        let dot = Dot(log: LogID(low: 1, high: 7), sequence: 3)
        let fact = Fact(.moved(item, of: dot, bytes: [1, 2, 3]))
        let bytes = FactRecord.bytes([fact])
        #expect(try FactRecord.facts(bytes.span.bytes) == [fact])
        var other = bytes
        // The flags follow the attribute: it replaces nothing.
        let flags = try #require(other.firstIndex(of: 7).map { _ in 1 + 2 + 16 + 4 + 1 })
        other[flags] |= 2
        #expect(throws: FormatError.self) { try FactRecord.facts(other.span.bytes) }
        other[flags] = 0
        #expect(throws: FormatError.self) { try FactRecord.facts(other.span.bytes) }
        for count in 0..<bytes.count {
            let short = Array(bytes.prefix(count))
            #expect(throws: FormatError.self) { try FactRecord.facts(short.span.bytes) }
        }
        // It names a commit that its author had applied.
        let commit = FactCommit(
            stamp: Stamp(clock: 1, dot: Dot(log: LogID(low: 2, high: 7), sequence: 1)),
            versions: VersionVector(), facts: [fact])
        #expect(commit.refusal(root: rootID) == .unseenCommit(.content(item), dot))
        #expect(commit.refusal(root: item) == .aboutRoot(.content(item)))
    }
}
