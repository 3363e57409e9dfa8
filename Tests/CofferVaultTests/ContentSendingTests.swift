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
