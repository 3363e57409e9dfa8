import CofferFacts
import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
@testable import CofferVault

/// Late content of very many extents: it arrives in parts, so that it does not take all memory.
@Suite struct LateContentTests {
    private let devices: TwoDevices
    private let old = RemoteContents(partCountMax: 64) { _ in Sending.Delivery {} }

    init() throws { devices = try TwoDevices() }

    /// A file of A in many pieces, with its value; B has a file that lacks it.
    private func owed(_ count: Int, version: UInt8? = nil) throws -> (a: Int64, b: Int64, value: [UInt8]) {
        try devices.b.outgoing.beginTracking()
        let a = try devices.a.makeFile("file")
        for index in 0..<count {
            try devices.a.put(Pattern.make(50, seed: UInt64(index)), to: a, at: index * 5000)
        }
        var value = try devices.a.send(a, to: devices.remote)
        if let version { value[0] = version }
        let told = value
        let b = try devices.b.makeFile("file")
        let size = try devices.a.attributes(of: a).size
        let origin = try devices.a.state.withLock { try $0.tree.peek(a).origin }
        try devices.b.changing { state throws(FileSystemError) in
            let item = try state.tree.item(b)
            let facts = try state.openFacts()
            let id = item.row.id
            try facts.setNumber(b, of: id)
            try facts.flush()
            let content = Fact.Content(bytes: told, size: UInt64(size), origin: origin)
            try old.apply(content, to: ContentTarget(item: item, vault: devices.b, other: nil), &state)
        }
        return (a, b, value)
    }

    @Test func contentArrivesInParts() throws {
        let (a, b, _) = try owed(1000)
        #expect(fails("notArrived") { _ = try devices.b.get(b, count: 10) })
        try old.placeArrived(in: devices.b)
        let isSame = try haveSameBytes(devices.b.content(of: b), devices.a.content(of: a))
        #expect(isSame)
        #expect(try devices.b.rows(of: b).count == devices.a.rows(of: a).count)
        #expect(try devices.b.indexProblems() == [])
        #expect(try devices.b.damage() == [])
        // It can be forwarded unchanged: its pages are known.
        let sent = devices.remote.byteCount
        _ = try devices.b.send(b, to: devices.remote)
        #expect(devices.remote.byteCount == sent)
    }

    /// Content that was not fetched cannot be read, and is no hole; the next attempt starts again.
    @Test func theRemoteStopsInBetween() throws {
        let (a, b, value) = try owed(1000)
        let content = try unsafe ContentValue(value.span.bytes)
        var parts = 0
        _ = try devices.b.contents.fetchExtents(of: content, countMax: 64) {
            part, end throws(FileSystemError) in
            parts += 1
            #expect(part.entries.count < 64 + ContentNode.entryCountMax)
            try devices.b.changing { state throws(FileSystemError) in
                try state.setPart(part, from: 0, to: end, of: try state.tree.item(b))
            }
            return parts < 1
        }
        #expect(parts == 1)
        let size = try devices.b.attributes(of: b).size
        let isUnreadable = fails("notArrived") { _ = try devices.b.get(b, at: Int(size) - 1, count: 1) }
        #expect(size < content.size || isUnreadable)
        #expect(try devices.b.get(b, count: 50) == Pattern.make(50, seed: 0))
        devices.remote.fail(.timedOut)
        try old.placeArrived(in: devices.b)
        devices.remote.fail(nil)
        try old.placeArrived(in: devices.b)
        let isSame = try haveSameBytes(devices.b.content(of: b), devices.a.content(of: a))
        #expect(isSame)
        #expect(try devices.b.indexProblems() == [])
    }

    @Test func missingContentWithoutAPendingPackIsDamage() throws {
        let (_, b, _) = try owed(1000)
        #expect(fails("notArrived") { _ = try devices.b.get(b, count: 10) })
        try devices.b.changing { state throws(FileSystemError) in
            let key = KeptRow.Key.owed(try state.tree.peek(b).id)
            try state.index.removeKept(key)
        }
        #expect(fails("damaged") { _ = try devices.b.get(b, count: 10) })
    }

    // MARK: Writes in the meantime

    private func withoutPacks(_ body: () throws -> Void) rethrows {
        let packs = devices.remote.state.withLock { $0.packs }
        devices.remote.change { $0 = [:] }
        try body()
        devices.remote.change { $0 = packs }
    }

    private func isOwed(_ file: Int64) -> Bool { devices.b.contents.owedContent(of: file) != nil }

    @Test func missingPacksAreRetried() throws {
        let (a, b, _) = try owed(1000)
        try withoutPacks {
            try old.placeArrived(in: devices.b)
            #expect(isOwed(b))
            #expect(fails("notArrived") { _ = try devices.b.get(b, count: 10) })
            #expect(try Set(devices.b.check { _, _ in }.damage.map(\.path)) == ["file"])
        }
        try old.placeArrived(in: devices.b)
        #expect(!isOwed(b))
        devices.b.remoteReads.arrivals.tryAgain(in: devices.b)
        #expect(devices.problems.all == [])
        let isSame = try haveSameBytes(devices.b.content(of: b), devices.a.content(of: a))
        #expect(isSame)
    }

    /// What was looked for in vain is left alone for a while, unless the remote was away meanwhile.
    @Test func theRemoteAnswersAgain() throws {
        let (_, b, _) = try owed(100)
        let patient = RemoteContents(partCountMax: 64, pause: 3_600_000_000_000) { _ in Sending.Delivery {} }
        try withoutPacks { try patient.placeArrived(in: devices.b) }
        try patient.placeArrived(in: devices.b)
        #expect(isOwed(b))
        patient.noteRemoteAnswers()
        try patient.placeArrived(in: devices.b)
        #expect(!isOwed(b))
    }

    /// Older content that arrives late does not replace newer content.
    @Test("Rewritten content stays", arguments: [false, true])
    func aNewContentStays(isSent: Bool) throws {
        let (_, b, _) = try owed(1000)
        let new = Pattern.make(3000, seed: 5000)
        try withoutPacks {
            try old.placeArrived(in: devices.b)
            try devices.b.truncate(b, to: 0)
            try devices.b.put(new, to: b)
            try devices.b.commit()
            if isSent {
                try devices.b.changing { state throws(FileSystemError) in
                    state.tree.publishing = [b]
                    _ = try state.tree.takeUnsent([b], [b: Fact.Content(bytes: [1], size: 3000)])
                    state.tree.publishing = []
                }
            }
        }
        try old.placeArrived(in: devices.b)
        #expect(try devices.b.content(of: b) == new)
        #expect(!isOwed(b))
        #expect(try devices.b.indexProblems() == [])
    }

    /// Writes to content that is not known yet are sent once the rest of it is.
    @Test("A part that was written stays", arguments: [64, 1 << 14])
    func aPartStays(partCountMax: Int) throws {
        let contents = RemoteContents(partCountMax: partCountMax) { _ in Sending.Delivery {} }
        let (a, b, _) = try owed(1000)
        var expected = try devices.a.content(of: a)
        try withoutPacks {
            try contents.placeArrived(in: devices.b)
            for offset in [0, 1_000_003, 2_999_999] {
                let part = Pattern.make(7000, seed: UInt64(offset))
                try devices.b.put(part, to: b, at: offset)
                expected.replaceSubrange(offset..<offset + 7000, with: part)
            }
            try devices.b.commit()
            #expect(fails("notArrived") { _ = try devices.b.send(b, to: devices.remote) })
        }
        try contents.placeArrived(in: devices.b)
        let isSame = try haveSameBytes(devices.b.content(of: b), expected)
        #expect(isSame)
        #expect(!isOwed(b))
        #expect(try devices.b.indexProblems() == [])
        _ = try devices.b.send(b, to: devices.remote)
        #expect(try devices.b.damage() == [])
    }

    /// Damaged pages are checked again once there is reason to.
    @Test func damagedPagesAreNamed() throws {
        let (a, b, _) = try owed(1000)
        let whole = devices.remote.state.withLock { $0.packs }
        devices.remote.change { packs in
            for (id, bytes) in packs {
                packs[id] =
                    bytes.prefix(RemotePackHeader.byteCount)
                    + bytes.dropFirst(RemotePackHeader.byteCount).map { $0 ^ 1 }
            }
        }
        for _ in 0..<3 { try old.placeArrived(in: devices.b) }
        devices.remote.forgetFetches()
        try old.placeArrived(in: devices.b)
        #expect(devices.remote.fetchCount == 0)
        #expect(devices.problems.all.map(\.text).allSatisfy { $0.hasPrefix("file cannot be read") })
        #expect(fails("damaged") { _ = try devices.b.get(b, count: 10) })
        #expect(try Set(devices.b.check { _, _ in }.damage.map(\.path)) == ["file"])
        devices.remote.change { $0 = whole }
        try old.placeArrived(in: devices.b)
        let isSame = try haveSameBytes(devices.b.content(of: b), devices.a.content(of: a))
        #expect(isSame)
        devices.b.remoteReads.arrivals.tryAgain(in: devices.b)
        #expect(devices.problems.all == [])
    }

    /// Content of a newer Coffer can be read after an update.
    @Test func aValueOfANewerVersionIsKept() throws {
        let (a, b, value) = try owed(10, version: ContentValue.version + 1)
        #expect(devices.problems.all.contains { $0.text.contains("newer Coffer") })
        for contents in [old, RemoteContents { _ in Sending.Delivery {} }] {
            try contents.placeArrived(in: devices.b)
            #expect(fails("unreachable") { _ = try devices.b.get(b, count: 10) })
        }
        // A stand-in for the update: the value becomes a known one.
        try devices.b.changing { state throws(FileSystemError) in
            let id = try state.tree.peek(b).id
            let key = KeptRow.Key(.owed, id: id.bytes)
            let kept = try state.index.kept(key)
            #expect(kept == value)
            try state.tree.keep([KeptChange(key, [ContentValue.version] + value.dropFirst())])
        }
        try RemoteContents { _ in Sending.Delivery {} }.placeArrived(in: devices.b)
        let isSame = try haveSameBytes(devices.b.content(of: b), devices.a.content(of: a))
        #expect(isSame)
        #expect(try devices.b.indexProblems() == [])
    }

    // MARK: In the history

    /// What is done to a file before its content arrives, once a state with it was kept.
    enum Change: CaseIterable {
        case none, mode, part, replacement, newVersion, removal
    }

    private func change(_ b: Int64, by change: Change, _ contents: RemoteContents) throws {
        let vault = devices.b
        switch change {
        case .none: break
        case .mode:
            var changes = AttributeChanges()
            changes.mode = 0o600
            _ = try vault.setAttributes(of: b, changes)
        case .part: try vault.put(Pattern.make(7000, seed: 1), to: b, at: 1_000_003)
        case .replacement:
            try vault.changing { state throws(FileSystemError) in
                let target = ContentTarget(item: try state.tree.item(b), vault: devices.b, other: nil)
                try contents.apply(nil, to: target, &state)
            }
        case .newVersion:
            let name = Vault.Name(Array("file".utf8), in: Vault.rootNumber)
            try vault.changing { state throws(FileSystemError) in
                let version = try state.supersede(b, by: state.index.nextItemNumber(), [name])
                let facts = try state.openFacts()
                try facts.setNumber(version.row.number, of: version.row.id)
                try facts.flush()
                try contents.apply(nil, to: ContentTarget(item: version, vault: devices.b, other: b), &state)
            }
        case .removal: try vault.remove("file")
        }
    }

    /// A state of the past gets what its files were owed, whatever they have by now.
    @Test(arguments: Change.allCases, [64, 1 << 14])
    func thePastGetsItsContent(change: Change, partCountMax: Int) throws {
        let contents = RemoteContents(partCountMax: partCountMax) { _ in Sending.Delivery {} }
        try devices.b.history.set(.forever)
        let (a, b, _) = try owed(1000)
        let expected = try devices.a.content(of: a)
        try devices.b.history.keepPresent()
        let time = Clock.realTime
        devices.b.remoteReads.arrivals.wait(nanoseconds: 0)
        try withoutPacks {
            try contents.placeArrived(in: devices.b)
            try self.change(b, by: change, contents)
            // A later state, in which other parts of it went.
            try devices.b.history.keepPresent()
            if change == .part { try devices.b.put(Pattern.make(7000, seed: 2), to: b, at: 2_000_003) }
            try contents.placeArrived(in: devices.b)
            #expect(try !devices.b.cache.remotePacks().isComplete)
            #expect(fails("notArrived") { try look(at: time, b) { _ in } })
            let damage = try devices.b.check { _, _ in }.damage.map(\.text)
            // A file that only a program has, and the past of that file, are not checked.
            #expect(
                damage.isEmpty == (change == .newVersion)
                    && damage.allSatisfy { $0.contains("has not arrived") })
        }
        try contents.placeArrived(in: devices.b)
        try look(at: time, b) { bytes in
            let isSame = haveSameBytes(bytes, expected)
            #expect(isSame)
        }
        if change == .none {
            // It was no change of the file.
            let versions = try devices.b.state.withLock { try $0.index.versions(of: b, from: 0) }
            #expect(versions.isEmpty)
        }
        if change == .newVersion {
            // A program has it open.
            let isSame = try haveSameBytes(devices.b.content(of: b), expected)
            #expect(isSame)
        }
        #expect(try devices.b.check { _, _ in }.damage.map(\.text) == [])
        #expect(try devices.b.indexProblems() == [])
        #expect(try devices.b.cache.remotePacks().isComplete)
        // It looks once more, as versions could have passed on what they lacked.
        try contents.placeArrived(in: devices.b)
        #expect(!contents.mayOwe)
    }

    /// States whose time has come take what is owed to them along.
    @Test(arguments: [false, true]) func thePastIsThinned(isWholly: Bool) throws {
        try devices.b.history.set(.forever)
        let (a, b, _) = try owed(1000)
        let expected = try devices.a.content(of: a)
        try devices.b.history.keepPresent()
        let time = Clock.realTime
        try withoutPacks {
            // Two versions have a part each, and the later one goes.
            try change(b, by: .part, old)
            try devices.b.history.keepPresent()
            try change(b, by: .replacement, old)
            try devices.b.history.keepPresent()
            _ = try devices.b.makeFile("other")
            let moments = try devices.b.state.withLock { try $0.index.moments().map(\.number) }
            try devices.b.history.keep(only: isWholly ? [] : Set(moments.prefix(2)))
            try old.placeArrived(in: devices.b)
        }
        try old.placeArrived(in: devices.b)
        if !isWholly {
            try look(at: time, b) { bytes in
                let isSame = haveSameBytes(bytes, expected)
                #expect(isSame)
            }
        }
        #expect(try devices.b.check { _, _ in }.damage.map(\.text) == [])
        #expect(try devices.b.indexProblems() == [])
        #expect(try devices.b.cache.remotePacks().isComplete)
    }

    /// Reads a file as it was.
    private func look(at time: Int64, _ file: Int64, _ body: ([UInt8]) -> Void) throws {
        let view = try #require(try devices.b.history.view(at: time))
        defer { view.close() }
        let size = Int(try view.attributes(of: file).size)
        let buffer = AlignedBuffer(count: size)
        #expect(try view.read(file, at: 0, count: size, into: buffer) == size)
        body(buffer.withBytes(0..<size) { $0.array })
    }
}
