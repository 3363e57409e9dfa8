import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
@testable import CofferVault

/// Content that travels between devices through a remote.
@Suite struct ContentSendingTests {
    /// A file of A that is changed at random, and what it should hold.
    private struct File {
        let number: Int64
        var content: [UInt8] = []

        mutating func change(_ vault: Vault, _ random: inout SplitMix64) throws {
            let offset = random.below(min(content.count + 50_000, 3_000_000))
            let count = random.oneIn(6) ? random.below(1_500_000) : random.below(9000)
            switch random.below(6) {
            case 0:
                try vault.truncate(number, to: offset)
                content = Array(content.prefix(offset))
                content.grow(to: offset)
            case 1:
                try vault.contents.allocate(
                    .punchHole, of: number, Int64(offset)..<Int64(offset + count), by: TestVault.owner)
                content.clear(offset..<offset + count)
            default:
                let bytes = random.bytes(count)
                if count == 0 { return }
                try vault.put(bytes, to: number, at: offset)
                content.overwrite(at: offset, with: bytes)
            }
        }
    }

    @Test(arguments: [UInt64](0..<10))
    func sentContentIsReadElsewhere(seed: UInt64) throws {
        let devices = try TwoDevices()
        var random = SplitMix64(seed: seed)
        var file = File(number: try devices.a.makeFile("file"))
        let copy = try devices.b.makeFile("file")
        for round in 0..<8 {
            for _ in 0..<1 + random.below(40) { try file.change(devices.a, &random) }
            if random.oneIn(3) { _ = try devices.a.repacking.compact() }
            let value = try devices.a.send(file.number, to: devices.remote)
            try devices.b.receive(value, as: copy)
            let comment: Comment = "seed \(seed), round \(round)"
            #expect(try devices.b.attributes(of: copy).size == Int64(file.content.count), comment)
            #expect(
                try devices.b.attributes(of: copy).allocated
                    == devices.a.attributes(of: file.number).allocated, comment)
            if random.oneIn(2) {
                let isSame = try haveSameBytes(devices.b.content(of: copy), file.content)
                #expect(isSame, comment)
            } else {
                for _ in 0..<10 where !file.content.isEmpty {
                    let offset = random.below(file.content.count)
                    let count = min(1 + random.below(100_000), file.content.count - offset)
                    let isSame =
                        try devices.b.get(copy, at: offset, count: count)
                        == Array(file.content[offset..<offset + count])
                    #expect(isSame, comment)
                }
            }
            if random.oneIn(3) { try devices.b.cache.evict(to: Int64(random.below(2_000_000))) }
            if random.oneIn(3) { _ = try devices.b.repacking.compact() }
            #expect(try devices.a.indexProblems() == [], comment)
            #expect(try devices.b.indexProblems() == [], comment)
            // The other device arrives at the same content.
            #expect(try devices.b.send(copy, to: devices.remote) == value, comment)
        }
        #expect(try devices.a.damage() == [])
        #expect(try devices.b.damage() == [])
        try devices.b.close()
        let again = try devices.testB.open()
        again.contents.attach(devices.remote)
        let isSame = try haveSameBytes(again.content(of: copy), file.content)
        #expect(isSame, "seed \(seed)")
    }

    /// Content that the remote has is not sent again, and content that this device has is not fetched.
    @Test func onlyNewContentIsSentAndFetched() throws {
        let devices = try TwoDevices()
        var content = Pattern.make(20 << 20)
        let (a, b) = try devices.file(content)
        let isSame = try haveSameBytes(devices.b.content(of: b), content)
        #expect(isSame)
        let before = devices.remote.byteCount
        devices.remote.forgetFetches()
        let change = Pattern.make(1000, seed: 2)
        try devices.a.put(change, to: a, at: 7 << 20)
        content.replaceSubrange(7 << 20..<(7 << 20) + 1000, with: change)
        try devices.b.receive(try devices.a.send(a, to: devices.remote), as: b)
        #expect(devices.remote.byteCount - before < 10_000)
        #expect(try devices.b.missingByteCount(of: b) == 1000)
        let isChanged = try devices.b.content(of: b) == content
        #expect(isChanged)
        let fetched = devices.remote.state.withLock { $0.fetches.reduce(0) { $0 + $1.range.count } }
        #expect(fetched < 10_000)
        #expect(try devices.b.damage() == [])
    }

    /// Overwrites parts of 300,000 bytes, and returns the content.
    private func overwrite(
        _ starts: [Int], of number: Int64, in vault: Vault, _ content: [UInt8]
    ) throws -> [UInt8] {
        var content = content
        for start in starts {
            let other = Pattern.make(300_000, seed: UInt64(start + 1))
            try vault.put(other, to: number, at: start)
            content.replaceSubrange(start..<start + other.count, with: other)
        }
        return content
    }

    /// Only blocks in use can be read of an extent of which a part was overwritten and freed.
    @Test func anExtentWithFreedPartsIsSent() throws {
        let devices = try TwoDevices()
        let old = Pattern.make(3 << 20)
        let a = try devices.a.makeFile("file", old)
        try devices.a.commit()
        let used = devices.testA.directory.usedByteCount
        let content = try overwrite([0, 1_500_000], of: a, in: devices.a, old)
        try devices.a.commit()
        #expect(devices.testA.directory.usedByteCount < used + 100_000)
        let b = try devices.b.makeFile("file")
        try devices.b.receive(try devices.a.send(a, to: devices.remote), as: b)
        let isSame = try haveSameBytes(devices.b.content(of: b), content)
        #expect(isSame)
        #expect(try devices.a.damage() == [])
        #expect(try devices.b.damage() == [])
    }

    /// A part is overwritten, and freed, after a sending has begun: the next one takes the file.
    @Test func aPartThatIsFreedMeanwhileIsNoDamage() throws {
        let devices = try TwoDevices()
        let a = try devices.a.makeFile("file", Pattern.make(1 << 20))
        let remote = devices.remote
        let sending = try devices.a.beginSending { pack throws(TransferError) in remote.store(pack) }
        try devices.a.put(Pattern.make(500_000, seed: 1), to: a, at: 100_000)
        try devices.a.commit()
        let error = #expect(throws: FileSystemError.self) { try sending.add(a) }
        if case .stale = error {} else { Issue.record("the sending fails otherwise") }
        #expect(devices.a.problems.all == [])
    }

    /// Parts of an extent that were freed here are fetched if a content from elsewhere refers to them again.
    @Test(arguments: [false, true])
    func freedPartsAreFetchedWhereTheyComeBack(isMoved: Bool) throws {
        let devices = try TwoDevices()
        let content = Pattern.make(3 << 20)
        let a = try devices.a.makeFile("file", content)
        let value = try devices.a.send(a, to: devices.remote)
        let used = devices.testA.directory.usedByteCount
        let changed = try overwrite([0, 1_500_000], of: a, in: devices.a, content)
        try devices.a.commit()
        #expect(devices.testA.directory.usedByteCount < used + 100_000)
        if isMoved {
            let rows = try devices.a.state.withLock {
                try $0.index.extents(of: a, overlapping: 0..<Int64.max).filter { $0.remote != 0 }
            }
            for row in rows { try devices.a.contents.move(row) }
            try devices.a.commit()
            let places = try devices.a.state.withLock {
                try $0.index.extents(of: a, overlapping: 0..<Int64.max).map(\.place)
            }
            #expect(rows.allSatisfy { !places.contains($0.place) })
            // The pack from which they were moved is still being written, and stays.
            #expect(devices.testA.directory.usedByteCount < used + 2_700_000)
        }
        let isChanged = try haveSameBytes(devices.a.content(of: a), changed)
        #expect(isChanged)
        devices.remote.forgetFetches()
        try devices.a.receive(value, as: a)
        let isSame = try haveSameBytes(devices.a.content(of: a), content)
        #expect(isSame)
        #expect(devices.remote.state.withLock { !$0.fetches.isEmpty })
        #expect(try devices.a.indexProblems() == [])
        try devices.a.commit()
        #expect(try devices.a.damage() == [])
    }

    /// A file split from another one has the parts of an extent that the other one no longer has.
    @Test func partsOfASharedExtentStay() throws {
        let devices = try TwoDevices()
        let content = Pattern.make(1 << 20)
        let a = try devices.a.makeFile("file", content)
        let value = try devices.a.send(a, to: devices.remote)
        let copy = try devices.a.makeFile("copy")
        try devices.a.receive(value, as: copy, like: a)
        let used = devices.testA.directory.usedByteCount
        try devices.a.put(Pattern.make(500_000, seed: 1), to: a, at: 100_000)
        try devices.a.commit()
        #expect(devices.testA.directory.usedByteCount > used + 400_000)
        devices.remote.forgetFetches()
        let isSame = try haveSameBytes(devices.a.content(of: copy), content)
        #expect(isSame)
        #expect(devices.remote.state.withLock { $0.fetches.isEmpty })
        #expect(try devices.a.damage() == [])
    }

    /// An extent whose ranges one item has under two numbers, as contents that arrive in parts have, stays whole
    /// for another item.
    @Test func partsOfAnExtentUnderTwoNumbersStay() throws {
        let devices = try TwoDevices()
        var content = Pattern.make(900_000)
        let a = try devices.a.makeFile("file", content)
        try devices.a.commit()
        content = try overwrite([300_000], of: a, in: devices.a, content)
        let value = try devices.a.send(a, to: devices.remote)
        let (old, new) = (try devices.b.makeFile("old"), try devices.b.makeFile("new"))
        try devices.b.receive(value, as: old)
        let rows = try devices.b.rows(of: old)
        let second = try #require(rows.first { $0.offset == 600_000 })
        try #require(rows.first?.remote == second.remote)
        try devices.b.changing { state throws(FileSystemError) in
            let place = try state.index.remoteExtent(second.remote).place
            try state.index.addLive(-second.length, toRemote: second.remote)
            var other = second
            other.remote = try state.index.insertRemoteExtent(place, live: second.length)
            try state.index.remove(second)
            try state.index.insert(other)
        }
        let isWhole = try haveSameBytes(devices.b.content(of: old), content)
        #expect(isWhole)
        try devices.b.receive(value, as: new, like: old)
        content = try overwrite([600_000], of: new, in: devices.b, content)
        try devices.b.truncate(old, to: 0)
        try devices.b.commit()
        let isSame = try haveSameBytes(devices.b.content(of: new), content)
        #expect(isSame)
        #expect(try devices.b.indexProblems() == [])
        #expect(try devices.b.damage() == [])
    }

    /// Extents on a remote are moved with dead parts that are too small to be freed: compaction does not move
    /// them again and again.
    @Test func compactionOfSentExtentsEnds() throws {
        let devices = try TwoDevices()
        let a = try devices.a.makeFile("file", Pattern.make(48 << 20))
        _ = try devices.a.send(a, to: devices.remote)
        let page = Pattern.make(4096, seed: 3)
        for number in 0..<48 << 20 / 8192 { try devices.a.put(page, to: a, at: number * 8192) }
        try devices.a.commit()
        func packs() -> Set<Int64> { devices.a.state.withLock { Set($0.packs.rows.map(\.number)) } }
        let before = packs()
        _ = try devices.a.repacking.compact()
        try devices.a.commit()
        let after = packs()
        #expect(before != after)
        devices.a.state.withLock { $0.fragmented = [] }
        _ = try devices.a.repacking.compact()
        try devices.a.commit()
        #expect(packs() == after)
        #expect(try devices.a.damage() == [])
    }

    @Test func manySmallFilesShareAPack() throws {
        let devices = try TwoDevices()
        let numbers = try (0..<100).map {
            try devices.a.makeFile("file \($0)", Pattern.make(500 + $0, seed: UInt64($0)))
        }
        let remote = devices.remote
        let sending = try devices.a.beginSending { pack throws(TransferError) in remote.store(pack) }
        for number in numbers { try sending.add(number) }
        let values = try sending.finish()
        #expect(remote.state.withLock { $0.packs.count } == 1)
        for (index, number) in numbers.enumerated() {
            let copy = try devices.b.makeFile("file \(index)")
            try devices.b.receive(try #require(values[number]).bytes, as: copy)
            let isSame = try haveSameBytes(
                devices.b.content(of: copy), Pattern.make(500 + index, seed: UInt64(index)))
            #expect(isSame)
        }
    }

    @Test func packsAreOfTheSizeOfTheFormat() throws {
        let devices = try TwoDevices()
        _ = try devices.file(Pattern.make(40 << 20))
        let packs = devices.remote.state.withLock { Array($0.packs.values) }
        for pack in packs {
            #expect(pack.count <= RemotePackHeader.packByteCountMax)
            #expect(try RemotePackHeader(pack.span.bytes).vault == devices.a.id)
        }
        #expect(packs.count { $0.count < RemotePackBuilder.packByteCountMin } <= 2)
    }

    /// Changes while content is collected are not in it.
    @Test func aValueDescribesOneMoment() throws {
        let devices = try TwoDevices()
        let old = Pattern.make(30 << 20)
        let (number, copy) = (try devices.a.makeFile("file", old), try devices.b.makeFile("file"))
        let (a, remote) = (devices.a, devices.remote)
        let sending = try a.beginSending { pack throws(TransferError) in
            remote.store(pack)
            try? a.put(Pattern.make(100), to: number, at: 29 << 20)
            try? a.put(Pattern.make(100), to: number, at: 0)
        }
        try sending.add(number)
        let value = try #require(try sending.finish()[number])
        try devices.b.receive(value.bytes, as: copy)
        let isOld = try devices.b.content(of: copy) == old
        #expect(isOld)
        #expect(try a.indexProblems() == [])
    }

    @Test func removedContentIsStale() throws {
        let devices = try TwoDevices()
        let number = try devices.a.makeFile("file", Pattern.make(3 << 20))
        let sending = try devices.a.beginSending { _ throws(TransferError) in }
        try devices.a.truncate(number, to: 0)
        try devices.a.commitIndex()
        #expect(fails("stale") { try sending.add(number) })
        #expect(fails("stale") { try sending.add(number + 1) })
        #expect(try sending.finish().isEmpty)
    }

    @Test func damageIsNotSent() throws {
        let devices = try TwoDevices()
        let problems = ProblemLog()
        let number = try devices.a.makeFile("file", Pattern.make(3 << 20))
        try devices.a.close()
        for path in devices.testA.directory.paths where path.hasPrefix("packs/") {
            devices.testA.directory.flip(path, at: 2 << 20)
        }
        let a = try devices.testA.open(problems: problems)
        #expect(fails("damaged") { _ = try a.send(number, to: devices.remote) })
        #expect(problems.all.contains { $0.text.contains("file: bytes") })
    }

    @Test func anUndeliveredPackIsSentAgain() throws {
        let devices = try TwoDevices()
        let content = Pattern.make(20 << 20)
        let number = try devices.a.makeFile("file", content)
        let remote = devices.remote
        let sending = try devices.a.beginSending { pack throws(TransferError) in
            if remote.byteCount > 0 { throw .timedOut }
            remote.store(pack)
        }
        #expect(
            fails("timedOut") {
                try sending.add(number)
                _ = try sending.finish()
            })
        let copy = try devices.b.makeFile("file")
        try devices.b.receive(try devices.a.send(number, to: remote), as: copy)
        #expect(remote.byteCount < content.count + (1 << 20))
        let isSame = try haveSameBytes(devices.b.content(of: copy), content)
        #expect(isSame)
    }

    /// Appending to a large file costs the appended bytes, and a few pages.
    @Test func appendingToALargeFileSendsLittle() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let number = try vault.makeFile("file")
        // With an extent for every 16 MiB the pages above what is appended are those of a file without holes.
        let entries = (1...64).map { (index: Int) -> ContentEntry in
            let offset = (Int64(index) << 24) - (1 << 20)
            let place = SealedPlace(
                pack: PackID(low: UInt64(index), high: 1), position: 48, hash: .zero)
            return ContentEntry(
                offset: offset, length: 1 << 20, base: offset, total: 1 << 20, place: place,
                prefixLow: UInt64(index), prefixHigh: 7, epoch: .first)
        }
        let value = ContentValue(
            size: 1 << 30, origin: try vault.state.withLock { try $0.tree.peek(number).origin },
            extents: .entries([]))
        try vault.setContent(of: number, to: FetchedContent(value, entries, [], known: []))
        _ = try vault.send(number, to: MemoryRemote())
        let remote = MemoryRemote()
        let bytes = Pattern.make(1024)
        for index in 0..<1000 {
            try vault.put(bytes, to: number, at: 1 << 30 + index << 10)
            _ = try vault.send(number, to: remote)
            remote.change { packs in
                let count = packs.values.reduce(0) { $0 + $1.count }
                packs = [PackID(low: 0, high: 0): [UInt8](repeating: 0, count: count)]
            }
        }
        #expect(remote.byteCount < 6 << 20)
        #expect(remote.byteCount > 1 << 20)
        #expect(try vault.indexProblems() == [])
    }

    @Test func theStateShowsWhereTheContentIs() throws {
        let devices = try TwoDevices()
        let number = try devices.a.makeFile("file", Pattern.make(100_000))
        #expect(try devices.a.contentState(of: number) == .local)
        devices.a.state.withLock { _ = $0.tree.publishing.insert(number) }
        #expect(try devices.a.contentState(of: number) == .uploading)
        let copy = try devices.b.makeFile("file")
        try devices.b.receive(try devices.a.send(number, to: devices.remote), as: copy)
        #expect(try devices.a.contentState(of: number) == .synced)
        #expect(try devices.b.contentState(of: copy) == .remoteOnly)
        _ = try devices.b.content(of: copy)
        #expect(try devices.b.contentState(of: copy) == .synced)
        try devices.b.put([1], to: copy)
        #expect(try devices.b.contentState(of: copy) == .local)
    }

    @Test func itemsRemovedBeforeTheirMoveAreNoDamage() throws {
        let devices = try TwoDevices()
        let (_, number) = try devices.file(Pattern.make(3 << 20))
        _ = try devices.b.content(of: number)
        let rows = try devices.b.reading { state throws(FileSystemError) in
            try state.index.extents(of: number, overlapping: 0..<3 << 20)
        }
        #expect(rows.allSatisfy { $0.remote != 0 && $0.place != .remote } && !rows.isEmpty)
        try devices.b.truncate(number, to: 0)
        for row in rows { try devices.b.contents.move(row) }
        #expect(devices.problems.all.isEmpty)
        #expect(try devices.b.damage() == [])
    }

    @Test func sharedContentIsFetchedForBothFiles() throws {
        let devices = try TwoDevices()
        let bytes = Pattern.make(3 << 20)
        let (a, number) = try devices.file(bytes)
        let copy = try devices.b.makeFile("copy")
        try devices.b.receive(try devices.a.send(a, to: devices.remote), as: copy, like: number)
        try devices.b.cache.fetchMissing { _, _ in }
        #expect(try devices.b.missingByteCount(of: number) == 0)
        #expect(try devices.b.missingByteCount(of: copy) == 0)
        devices.remote.fail(.timedOut)
        let isSame = try haveSameBytes(devices.b.content(of: copy), bytes)
        #expect(isSame)
    }
}
