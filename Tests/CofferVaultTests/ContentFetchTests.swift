import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
@testable import CofferVault

/// Reads of content that is only on a remote.
@Suite struct ContentFetchTests {
    @Test func aReadIsAnsweredLaterByAnotherThread() throws {
        let devices = try TwoDevices()
        let content = Pattern.make(3 << 20)
        let (_, b) = try devices.file(content)
        devices.remote.hold(true)
        let request = WaitingRequest()
        let buffer = AlignedBuffer(count: 100_000)
        let count = try devices.b.contents.read(b, at: 500_000, count: 100_000, into: buffer, or: { request })
        #expect(count == nil)
        devices.remote.waitForHeld(1)
        #expect(!request.isAnswered)
        // Other readers do not wait: no lock is held.
        _ = try devices.b.makeFile("other", [1, 2, 3])
        try devices.b.commit()
        devices.remote.hold(false)
        let isSame = try haveSameBytes(request.wait(), Array(content[500_000..<600_000]))
        #expect(isSame)
        try devices.b.close()
    }

    @Test func concurrentReadersFetchOnce() throws {
        let devices = try TwoDevices()
        let content = Pattern.make(1 << 20)
        let (_, b) = try devices.file(content)
        devices.remote.forgetFetches()
        devices.remote.hold(true)
        let requests = (0..<8).map { _ in WaitingRequest() }
        let buffer = AlignedBuffer(count: 4096)
        for (index, request) in requests.enumerated() {
            let count = try devices.b.contents.read(
                b, at: Int64(index) * 9000, count: 4096, into: buffer, or: { request })
            #expect(count == nil)
        }
        devices.remote.waitForHeld(1)
        devices.remote.hold(false)
        for (index, request) in requests.enumerated() {
            let isSame = try haveSameBytes(request.wait(), Array(content[index * 9000..<index * 9000 + 4096]))
            #expect(isSame)
        }
        #expect(devices.remote.fetchCount == 1)
        try devices.b.close()
        #expect(devices.remote.fetchCount == 1)
    }

    @Test func aSequentialReaderGetsReadAhead() throws {
        let devices = try TwoDevices()
        let content = Pattern.make(24 << 20)
        let (_, b) = try devices.file(content)
        devices.remote.forgetFetches()
        var offset = 0
        while offset < content.count {
            let bytes = try WaitingRequest.read(b, at: offset, count: 128 << 10, in: devices.b)
            let isSame = haveSameBytes(bytes, Array(content[offset..<offset + (128 << 10)]))
            #expect(isSame)
            offset += 128 << 10
        }
        try devices.b.close()
        // Neighbours come together: far fewer fetches than extents.
        #expect(devices.remote.fetchCount < 24)
        let fetched = devices.remote.state.withLock { $0.fetches.reduce(0) { $0 + $1.range.count } }
        #expect(fetched < content.count + (1 << 20))
    }

    @Test func wrongRemoteContentIsReported() throws {
        let devices = try TwoDevices()
        let content = Pattern.make(3 << 20)
        let (_, b) = try devices.file(content)
        try devices.b.commitIndex()
        devices.remote.change { packs in
            for id in packs.keys { packs[id]?[100_000] ^= 1 }
        }
        #expect(fails("damaged") { _ = try devices.b.get(b, at: 95_000, count: 10) })
        #expect(devices.problems.all.last?.text.contains("file: bytes 95000 to 95009 cannot be read") == true)
        #expect(devices.problems.all.last?.text.contains("remote pack") == true)
        // Undamaged content can be read, and nothing damaged is kept.
        let isSame =
            try devices.b.get(b, at: 2 << 20, count: 1000) == Array(content[(2 << 20)..<(2 << 20) + 1000])
        #expect(isSame)
        devices.remote.change { packs in
            for id in packs.keys { packs[id]?[100_000] ^= 1 }
        }
        let isWhole = try devices.b.content(of: b) == content
        #expect(isWhole)
    }

    @Test func errorsOfTheRemoteAreReported() throws {
        let devices = try TwoDevices()
        let (_, b) = try devices.file(Pattern.make(3 << 20))
        devices.remote.fail(.timedOut)
        #expect(fails("timedOut") { _ = try devices.b.get(b, count: 10) })
        devices.remote.fail(.failed(reason: "no route to host"))
        #expect(fails("unreachable") { _ = try devices.b.get(b, count: 10) })
        #expect(devices.problems.all.last?.text.contains("no route to host") == true)
        devices.remote.fail(nil)
        devices.b.contents.attach(nil)
        #expect(fails("unreachable") { _ = try devices.b.get(b, count: 10) })
        devices.b.contents.attach(devices.remote)
        devices.remote.change { $0 = [:] }
        #expect(fails("notArrived") { _ = try devices.b.get(b, count: 10) })
        // No read waits for it.
        devices.b.remoteReads.arrivals.stop()
        let request = WaitingRequest()
        let buffer = AlignedBuffer(count: 10)
        #expect(try devices.b.contents.read(b, at: 0, count: 10, into: buffer, or: { request }) == nil)
        #expect(fails("notArrived") { _ = try request.wait() })
        try devices.b.close()
    }

    @Test func overwritingNeedsNoFetch() throws {
        let devices = try TwoDevices()
        var content = Pattern.make(2 << 20)
        let (_, b) = try devices.file(content)
        devices.remote.forgetFetches()
        let change = Pattern.make(5000, seed: 5)
        try devices.b.put(change, to: b, at: 700_000)
        try devices.b.truncate(b, to: 1_900_000)
        try devices.b.commit()
        #expect(devices.remote.fetchCount == 0)
        content.replaceSubrange(700_000..<705_000, with: change)
        let isSame = try haveSameBytes(devices.b.content(of: b), Array(content[..<1_900_000]))
        #expect(isSame)
        #expect(try devices.b.damage() == [])
    }

    @Test func aCheckReportsContentThatIsNotLocal() throws {
        let devices = try TwoDevices()
        let (_, b) = try devices.file(Pattern.make(3 << 20))
        _ = try devices.b.get(b, at: 1 << 20, count: 10)
        devices.remote.forgetFetches()
        let result = try devices.b.check { _, _ in }
        #expect(result.missingBytes == 2 << 20)
        #expect(result.bytes == 1 << 20)
        #expect(result.damage == [])
        #expect(devices.remote.fetchCount == 0)
    }

    @Test func whatIsGivenUpIsFetchedAgain() throws {
        let devices = try TwoDevices()
        let contents = (0..<4).map { Pattern.make(9 << 20, seed: UInt64($0)) }
        let files = try contents.enumerated().map { try devices.file($1, named: "file \($0)").b }
        let local = try devices.b.makeFile("local", Pattern.make(5 << 20))
        for (number, content) in zip(files, contents) {
            let isSame = try haveSameBytes(devices.b.content(of: number), content)
            #expect(isSame)
        }
        try devices.b.commit()
        // The first one is used again, the last one is pinned.
        _ = try devices.b.content(of: files[0])
        let used = devices.testB.directory.usedByteCount
        let rest = try devices.b.cache.evict(to: 12 << 20) { $0 == files[3] }
        #expect(rest <= 12 << 20)
        #expect(devices.testB.directory.usedByteCount < used - (14 << 20))
        #expect(try devices.b.missingByteCount(of: files[1]) > 0)
        #expect(try devices.b.missingByteCount(of: files[3]) == 0)
        #expect(try devices.b.missingByteCount(of: local) == 0)
        #expect(try devices.b.missingByteCount(of: files[0]) < devices.b.missingByteCount(of: files[1]))
        #expect(try devices.b.damage() == [])
        for (number, content) in zip(files, contents) {
            let isSame = try haveSameBytes(devices.b.content(of: number), content)
            #expect(isSame)
        }
        // Content with unsent changes stays.
        for number in files { try devices.b.put([1], to: number) }
        #expect(try devices.b.cache.evict(to: 0) == 0)
        #expect(try devices.b.missingByteCount(of: files[1]) == 0)
    }

    @Test func withoutRoomItIsReadAndNotKept() throws {
        let devices = try TwoDevices()
        let content = Pattern.make(2 << 20)
        let (_, b) = try devices.file(content)
        try devices.b.commit()
        devices.testB.directory.limit(to: devices.testB.directory.usedByteCount)
        let isSame = try haveSameBytes(devices.b.content(of: b), content)
        #expect(isSame)
        #expect(try devices.b.missingByteCount(of: b) == content.count)
    }

    // MARK: Hostile bytes

    /// Changes of a tree's pages on the remote: an error, never a trap.
    @Test(arguments: [UInt64](0..<20))
    func changedPagesAreRefused(seed: UInt64) throws {
        let devices = try TwoDevices()
        var random = SplitMix64(seed: seed)
        let number = try devices.a.makeFile("file")
        for index in 0..<200 { try devices.a.put(random.bytes(100), to: number, at: index * 5000) }
        let value = try devices.a.send(number, to: devices.remote)
        let copy = try devices.b.makeFile("file")
        let whole = devices.remote.state.withLock { $0.packs }
        let (pages, bytes) = try #require(whole.min { $0.value.count < $1.value.count })
        devices.remote.change { packs in
            switch seed % 4 {
            case 0: packs[pages] = nil
            case 1: packs[pages] = Array(bytes.prefix(48 + random.below(bytes.count - 48)))
            default: packs[pages]?[48 + random.below(bytes.count - 48)] ^= UInt8(1 + random.below(255))
            }
        }
        let expected = seed % 4 < 2 ? "notArrived" : "damaged"
        #expect(fails(expected) { try devices.b.receive(value, as: copy) }, "seed \(seed)")
        devices.remote.change { $0 = whole }
        try devices.b.receive(value, as: copy)
        let isSame = try haveSameBytes(devices.b.content(of: copy), devices.a.content(of: number))
        #expect(isSame, "seed \(seed)")
    }

    /// Values that an attacker with the keys made up: whatever they say, the vault stays whole.
    @Test(arguments: [UInt64](0..<30))
    func hostileValuesDoNoHarm(seed: UInt64) throws {
        let devices = try TwoDevices()
        var random = SplitMix64(seed: seed)
        let (a, b) = try devices.file(Pattern.make(50_000))
        try devices.a.put([1], to: a, at: 100)
        let value = try devices.a.send(a, to: devices.remote)
        for _ in 0..<40 {
            var changed = value
            for _ in 0..<1 + random.below(4) {
                changed[random.below(changed.count)] = UInt8(truncatingIfNeeded: random.next())
            }
            guard (try? devices.b.receive(changed, as: b)) != nil else { continue }
            _ = try? devices.b.get(b, count: 50_000)
            if random.oneIn(4) { try devices.b.put([7], to: b, at: random.below(50_000)) }
        }
        #expect(try devices.b.indexProblems() == [], "seed \(seed)")
        #expect(devices.b.stoppedReason == nil)
        try devices.b.receive(value, as: b)
        let isSame = try haveSameBytes(devices.b.content(of: b), devices.a.content(of: a))
        #expect(isSame, "seed \(seed)")
        try devices.b.close()
    }

    /// Correctly sealed trees that no device makes.
    @Test func treesHaveOneForm() throws {
        let devices = try TwoDevices()
        let entries = (0..<40).map { index in
            ContentEntry(
                offset: Int64(index) * 10, length: 10, base: Int64(index) * 10, total: 10,
                place: SealedPlace(pack: PackID(low: 1, high: 1), position: 48, hash: .zero),
                prefixLow: UInt64(index), prefixHigh: 7, epoch: .first)
        }
        let origin = ItemID(low: 1, high: 2)
        func value(
            _ root: ContentNode, count: Int = 40, _ pages: [(ContentNode, ContentPage)]
        ) throws -> ContentValue {
            var builder = RemotePackBuilder(
                vault: devices.a.id, id: .random(),
                in: AlignedBuffer(forSealed: RemotePackBuilder.bufferByteCount))
            var references: [ContentNode: PageReference] = [:]
            for (node, page) in pages {
                var page = page
                if case .inner(let children) = page {
                    page = .inner(
                        children.map { .init(node: $0.node, reference: references[$0.node] ?? $0.reference) })
                }
                let sealed = try #require(devices.a.keys.seal(page: page, node, of: origin))
                let place = builder.append(sealed.span.bytes, hash: RemoteHash.page(sealed.span.bytes))
                references[node] = PageReference(place: place, length: UInt32(sealed.count), epoch: .first)
            }
            devices.remote.store(builder.finish())
            let reference = try #require(references[root])
            return ContentValue(
                size: 400, origin: origin,
                extents: .tree(root: .init(node: root, reference: reference), count: count))
        }
        let nowhere = PageReference(
            place: SealedPlace(pack: PackID(low: 0, high: 0), position: 48, hash: .zero), length: 200,
            epoch: .first)
        func child(_ node: ContentNode) -> ContentPage.Child { .init(node: node, reference: nowhere) }
        let (top, root) = (ContentNode(level: 2, index: 0), ContentNode(level: 1, index: 0))
        let second = ContentNode(level: 1, index: 0)
        // An inner page above few entries, a root that is too high, counts that are wrong.
        let few = Array(entries[..<20])
        let wrong = [
            try value(top, count: 20, [(second, .leaf(few)), (top, .inner([child(second)]))]),
            try value(root, count: 21, [(root, .leaf(few))]),
            try value(root, count: 19, [(root, .leaf(few))]),
            try value(top, count: 20, [(top, .leaf(few))]),
        ]
        for value in wrong {
            #expect(fails("damaged") { _ = try devices.b.contents.fetchExtents(of: value, for: nil) })
        }
        let right = try value(root, count: 20, [(root, .leaf(few))])
        #expect(try devices.b.contents.fetchExtents(of: right, for: nil).entries == few)
    }

    /// A page that is local already, in smaller content than it was made for.
    @Test func aKnownPageBeyondTheEndIsRefused() throws {
        let devices = try TwoDevices()
        let number = try devices.b.makeFile("file")
        let item = try devices.b.state.withLock { try $0.tree.item(number).row.id }
        func entries(from start: Int64, last: Int64) -> [ContentEntry] {
            (0..<20).map { index in
                let offset = start + Int64(index) * 10
                let length = index == 19 ? last : 10
                return ContentEntry(
                    offset: offset, length: length, base: offset, total: length,
                    place: SealedPlace(pack: PackID(low: 1, high: 1), position: 48, hash: .zero),
                    prefixLow: UInt64(offset), prefixHigh: 7, epoch: .first)
            }
        }
        let top = ContentNode(level: 2, index: 0)
        let (left, right) = (ContentNode(level: 1, index: 0), ContentNode(level: 1, index: 1))
        func put(_ page: ContentPage, _ node: ContentNode) throws -> ContentPage.Child {
            var builder = RemotePackBuilder(
                vault: devices.a.id, id: .random(),
                in: AlignedBuffer(forSealed: RemotePackBuilder.bufferByteCount))
            let sealed = try #require(devices.a.keys.seal(page: page, node, of: item))
            let place = builder.append(sealed.span.bytes, hash: RemoteHash.page(sealed.span.bytes))
            devices.remote.store(builder.finish())
            return ContentPage.Child(
                node: node,
                reference: PageReference(place: place, length: UInt32(sealed.count), epoch: .first))
        }
        func value(_ size: Int64, _ children: [ContentPage.Child]) throws -> [UInt8] {
            let root = try put(.inner(children), top)
            return ContentValue(size: size, origin: item, extents: .tree(root: root, count: 40)).bytes
        }
        // The last extent of the left page extends into the range of the right one.
        let known = try put(.leaf(entries(from: 300, last: 110)), left)
        try devices.b.receive(
            try value(1000, [known, try put(.leaf(entries(from: 600, last: 10)), right)]), as: number)
        try devices.b.commitIndex()
        let smaller = try value(550, [known, try put(.leaf(entries(from: 600, last: 10)), right)])
        #expect(fails("damaged") { try devices.b.receive(smaller, as: number) })
    }

    // MARK: Crashes

    /// After a power cut, content is old or new, whether it was fetched or not.
    @Test(arguments: Seeds.first(16))
    func aCrashLeavesAWholeContent(seed: UInt64) throws {
        let devices = try TwoDevices()
        var random = SplitMix64(seed: seed)
        let old = Pattern.make(1_500_000)
        let (a, b) = try devices.file(old)
        _ = try devices.b.get(b, count: 1)
        let leaf = AlignedBuffer(count: 4096)
        _ = try devices.b.contents.read(b, at: 1_200_000, count: 4096, into: leaf, demand: .leaves)
        try devices.b.commit()
        let new = Pattern.make(1_700_000, seed: 9)
        try devices.a.put(new, to: a)
        let value = try devices.a.send(a, to: devices.remote)
        let cuts = Condition<[SimulatedStorageDirectory]>([])
        let moments = Set((0..<8).map { _ in random.below(120) })
        let calls = Condition(0)
        devices.testB.directory.observe { [directory = devices.testB.directory] _, _ in
            let call = calls.withLock { calls in
                calls += 1
                return calls
            }
            if moments.contains(call) {
                let left = directory.crash(seed: UInt64(call))
                cuts.withLock { $0.append(left) }
            }
        }
        try devices.b.receive(value, as: b)
        if random.oneIn(2) { try devices.b.commit() }
        _ = try devices.b.content(of: b)
        try devices.b.commit()
        try devices.b.cache.evict(to: 500_000)
        _ = try devices.b.content(of: b)
        try devices.b.commit()
        devices.testB.directory.observe(nil)
        for directory in cuts.withLock({ $0 }) + [devices.testB.directory.crash(seed: seed)] {
            let vault = try devices.testB.on(directory).open()
            vault.contents.attach(devices.remote)
            let content = try vault.content(of: b)
            let isWhole = content == old || content == new
            #expect(isWhole, "seed \(seed)")
            #expect(try vault.damage() == [], "seed \(seed)")
        }
    }
}
