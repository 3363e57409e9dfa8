import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTestSupport
import Foundation
import Testing

import CofferStore
@testable import CofferVault

/// Reads away from others, of content that is only on a remote: they fetch leaves of extents.
@Suite struct LeafFetchTests {
    private static let leaf = ExtentLayout.leafByteCount
    private static let sealedLeaf = ExtentLayout.sealedLeafByteCount
    private static let sealedExtent = ExtentLayout.sealedByteCount(ExtentLayout.byteCountMax)
    /// The hashes of the leaves of the largest extent.
    private static let hashes = 16 * ContentHash.byteCount

    /// Two devices, and a file of three extents that is only on the remote for B.
    private struct Place {
        let devices: TwoDevices
        let content = Pattern.make(3 << 20)
        let b: Int64

        init() throws {
            devices = try TwoDevices()
            b = try devices.file(content).b
            devices.remote.forgetFetches()
        }

        func seek(_ offset: Int, _ count: Int = 4096) throws -> Bool {
            let buffer = AlignedBuffer(count: count)
            let read = try devices.b.contents.read(
                b, at: Int64(offset), count: count, into: buffer, demand: .leaves)
            return buffer.withBytes(0..<read) { $0.array } == Array(content[offset..<offset + count])
        }

        var fetched: [Int] { devices.remote.state.withLock { $0.fetches.map(\.range.count) } }

        /// The place of an extent of the file on the remote.
        func place(_ extent: Int) throws -> SealedPlace {
            let row = try devices.b.rows(of: b)[extent]
            return try devices.b.state.withLock { try $0.index.remoteExtent(row.remote).place }
        }

        /// Changes a remote pack; the range is that of an extent, with the hashes of its leaves.
        func change(_ extent: Int, _ body: (inout [UInt8], Range<Int>) -> Void) throws {
            let place = try place(extent)
            let start = Int(place.position)
            devices.remote.change { packs in
                guard var pack = packs[place.pack] else { return }
                body(&pack, start..<start + ExtentLayout.remoteByteCount(ExtentLayout.byteCountMax))
                packs[place.pack] = pack
            }
        }
    }

    @Test func aSeekFetchesALeaf() throws {
        let place = try Place()
        #expect(try place.seek((1 << 20) + 5 * Self.leaf + 100))
        // One round trip: the hashes come along.
        #expect(place.fetched.sorted() == [Self.hashes, Self.sealedLeaf])
        // What is known of the extent is not fetched again.
        #expect(try place.seek((1 << 20) + 5 * Self.leaf + 50_000))
        #expect(place.fetched.count == 2)
        #expect(try place.seek((1 << 20) + 9 * Self.leaf))
        #expect(place.fetched == place.fetched.prefix(2) + [Self.sealedLeaf])
        // Two leaves, because the read lies on both.
        #expect(try place.seek(3 * Self.leaf - 100))
        #expect(place.fetched.suffix(2).sorted() == [Self.hashes, 2 * Self.sealedLeaf])
        // The last leaf is next to the hashes.
        #expect(try place.seek((3 << 20) - 4096))
        #expect(place.fetched.last == Self.sealedLeaf + Self.hashes)
        #expect(try place.devices.b.missingByteCount(of: place.b) == place.content.count)
        #expect(try place.devices.b.damage() == [])
    }

    @Test func aRequestAwayFromOthersIsASeek() throws {
        let place = try Place()
        for offset in [1 << 20, 2_500_000, 300_000] {
            let request = WaitingRequest()
            let buffer = AlignedBuffer(count: 4096)
            let count = try place.devices.b.contents.read(
                place.b, at: Int64(offset), count: 4096, into: buffer, or: { request })
            #expect(count == nil)
            let isSame = try haveSameBytes(request.wait(), Array(place.content[offset..<offset + 4096]))
            #expect(isSame)
        }
        #expect(place.fetched.reduce(0, +) <= 3 * (2 * Self.sealedLeaf + Self.hashes))
        try place.devices.b.close()
    }

    @Test func readersOfALeafShareAFetch() throws {
        let place = try Place()
        place.devices.remote.hold(true)
        let requests = (0..<8).map { _ in WaitingRequest() }
        let buffer = AlignedBuffer(count: 4096)
        let start = (1 << 20) + 3 * Self.leaf
        for (index, request) in requests.enumerated() {
            let count = try place.devices.b.contents.read(
                place.b, at: Int64(start + index * 5000), count: 4096, into: buffer, or: { request })
            #expect(count == nil)
        }
        place.devices.remote.waitForHeld(1)
        place.devices.remote.hold(false)
        for (index, request) in requests.enumerated() {
            let from = start + index * 5000
            let isSame = try haveSameBytes(request.wait(), Array(place.content[from..<from + 4096]))
            #expect(isSame)
        }
        #expect(place.fetched.sorted() == [Self.hashes, Self.sealedLeaf])
        try place.devices.b.close()
    }

    /// A reader that fetches around a leaf that another one is fetching does not fail it.
    @Test func aFailureIsOnlyForItsReader() throws {
        let place = try Place()
        #expect(try place.seek(2 << 20))
        try place.change(2) { pack, range in
            pack.removeLast(pack.count - range.lowerBound - 6 * Self.sealedLeaf - 10)
        }
        place.devices.remote.holdFetches { $0.count == Self.sealedLeaf }
        let answer = Condition<Bool?>(nil)
        Thread.detachNewThread {
            let isRight = try? place.seek((2 << 20) + 5 * Self.leaf)
            answer.update { $0 = isRight ?? false }
        }
        place.devices.remote.waitForHeld(1)
        #expect(fails("notArrived") { _ = try place.seek((2 << 20) + 4 * Self.leaf, 3 * Self.leaf) })
        place.devices.remote.hold(false)
        #expect(answer.wait { $0 })
    }

    @Test func aReaderThatGoesOnGetsWholeExtents() throws {
        let devices = try TwoDevices()
        let content = Pattern.make(24 << 20)
        let (_, b) = try devices.file(content)
        devices.remote.forgetFetches()
        var offset = 5 << 20
        while offset < content.count {
            let bytes = try WaitingRequest.read(b, at: offset, count: 128 << 10, in: devices.b)
            let isSame = haveSameBytes(bytes, Array(content[offset..<offset + (128 << 10)]))
            #expect(isSame)
            offset += 128 << 10
        }
        try devices.b.close()
        let fetches = devices.remote.state.withLock { $0.fetches.map(\.range.count) }
        #expect(fetches.count < 19)
        #expect(fetches.reduce(0, +) < (20 << 20) + 4 * Self.sealedLeaf)
        // Nothing but the leaves that were read came alone.
        #expect(fetches.filter { $0 < Self.sealedExtent }.reduce(0, +) <= 5 * Self.sealedLeaf)
    }

    @Test func anExtentThatIsReadMoreIsStored() throws {
        let place = try Place()
        for number in 0..<16 { #expect(try place.seek((1 << 20) + number * Self.leaf)) }
        let alone = LeafReads.leavesMax
        #expect(place.fetched.reduce(0, +) == alone * Self.sealedLeaf + Self.hashes + Self.sealedExtent)
        place.devices.b.remoteReads.waitUntilStored()
        #expect(try place.devices.b.missingByteCount(of: place.b) == 2 << 20)
        // So is one of which the same is read again, when memory has forgotten it.
        #expect(try place.seek(100))
        place.devices.b.remoteReads.letGo()
        #expect(try place.seek(100))
        place.devices.b.remoteReads.waitUntilStored()
        #expect(try place.devices.b.missingByteCount(of: place.b) == 1 << 20)
        #expect(try place.devices.b.damage() == [])
    }

    @Test func whatIsEvictedIsFetchedAgain() throws {
        let place = try Place()
        #expect(try place.seek(5 * Self.leaf))
        let isWhole = try place.devices.b.content(of: place.b) == place.content
        #expect(isWhole)
        place.devices.b.remoteReads.waitUntilStored()
        try place.devices.b.cache.evict(to: 0)
        #expect(try place.devices.b.missingByteCount(of: place.b) == place.content.count)
        place.devices.remote.forgetFetches()
        #expect(try place.seek(5 * Self.leaf))
        #expect(place.fetched.sorted() == [Self.hashes, Self.sealedLeaf])
    }

    // MARK: Hostile remotes

    @Test(arguments: [true, false])
    func onlyADamagedLeafFails(isSeek: Bool) throws {
        let place = try Place()
        try place.change(1) { pack, range in pack[range.lowerBound + 5 * Self.sealedLeaf + 7] ^= 1 }
        func read(_ leaf: Int) throws -> Bool {
            let offset = (1 << 20) + leaf * Self.leaf
            if isSeek { return try place.seek(offset) }
            return try place.devices.b.get(place.b, at: offset, count: 4096)
                == Array(place.content[offset..<offset + 4096])
        }
        for leaf in [0, 4, 6, 15] { #expect(try read(leaf), "leaf \(leaf)") }
        #expect(fails("damaged") { _ = try read(5) })
        let remote = try place.place(1)
        let text = "byte \(Int(remote.position) + 5 * Self.sealedLeaf) of remote pack \(remote.pack)"
        #expect(place.devices.problems.all.contains { $0.text.contains(text) })
        // It may heal.
        try place.change(1) { pack, range in pack[range.lowerBound + 5 * Self.sealedLeaf + 7] ^= 1 }
        #expect(try read(5))
    }

    /// What a file no longer refers to can keep the rest of an extent from being stored, but not from being read.
    @Test func damageThatNobodyReadsIsNamed() throws {
        let place = try Place()
        let b = place.devices.b
        try place.change(1) { pack, range in pack[range.lowerBound + 5 * Self.sealedLeaf + 7] ^= 1 }
        let new = [UInt8](repeating: 9, count: Self.leaf)
        try b.put(new, to: place.b, at: (1 << 20) + 5 * Self.leaf)
        try b.commitIndex()
        let isRight = try b.content(of: place.b)[(1 << 20) + 4 * Self.leaf..<(1 << 20) + 7 * Self.leaf]
            .elementsEqual(
                place.content[(1 << 20) + 4 * Self.leaf..<(1 << 20) + 5 * Self.leaf] + new
                    + place.content[(1 << 20) + 6 * Self.leaf..<(1 << 20) + 7 * Self.leaf])
        #expect(isRight)
        #expect(fails("damaged") { try b.cache.fetchMissing { _, _ in } })
        #expect(fails("damaged") { _ = try b.cache.fetchContents(of: [place.b]) })
        // The others are stored all the same.
        #expect(try b.missingByteCount(of: place.b) == (1 << 20) - Self.leaf)
    }

    /// An extent with a last leaf of one byte, and a file that begins within an extent.
    @Test func leavesAtTheEdges() throws {
        let devices = try TwoDevices()
        let content = Pattern.make(Self.leaf + 1)
        let (_, b) = try devices.file(content)
        devices.remote.forgetFetches()
        func read(_ offset: Int, _ count: Int) throws -> [UInt8] {
            let buffer = AlignedBuffer(count: count)
            let read = try devices.b.contents.read(
                b, at: Int64(offset), count: count, into: buffer, demand: .leaves)
            return buffer.withBytes(0..<read) { $0.array }
        }
        #expect(try read(Self.leaf, 10) == [content[Self.leaf]])
        // The leaf of one byte, and the hashes behind it.
        let last = 1 + ExtentLayout.tagByteCount
        #expect(devices.remote.state.withLock { $0.fetches.map(\.range.count) } == [last + 64])
        #expect(try read(Self.leaf - 5, 10) == content.suffix(6))
        // The front of the extent is written anew: the row begins within it.
        try devices.b.put([1, 2, 3], to: b, at: 0)
        try devices.b.put([UInt8](repeating: 4, count: 40_000), to: b, at: 3)
        try devices.b.commitIndex()
        #expect(try read(40_003, 100) == Array(content[40_003..<40_103]))
        #expect(try read(39_999, 8) == [4, 4, 4, 4] + content[40_003..<40_007])
    }

    /// One read on two extents takes a leaf of each.
    @Test func aSeekAcrossExtents() throws {
        let place = try Place()
        #expect(try place.seek((1 << 20) - 100, 200))
        #expect(place.fetched.reduce(0, +) == 2 * (Self.sealedLeaf + Self.hashes))
    }

    /// The author signed the root: with wrong hashes of leaves, the extent is fetched and checked as a whole.
    @Test(arguments: ["flipped", "swapped", "exchanged within", "cut"])
    func wrongHashesOfLeavesDoNoHarm(kind: String) throws {
        let place = try Place()
        var first: ArraySlice<UInt8> = []
        try place.change(0) { pack, range in first = pack[range.suffix(Self.hashes)] }
        try place.change(2) { pack, range in
            let hashes = range.suffix(Self.hashes)
            switch kind {
            case "flipped": pack[hashes.lowerBound + 40] ^= 1
            case "swapped": pack.replaceSubrange(hashes, with: first)
            case "exchanged within": for byte in hashes.prefix(32) { pack.swapAt(byte, byte + 32) }
            default: pack.removeLast(pack.count - hashes.lowerBound)
            }
        }
        for leaf in [15, 3] { #expect(try place.seek((2 << 20) + leaf * Self.leaf)) }
        #expect(place.fetched.contains(Self.sealedExtent))
        place.devices.b.remoteReads.waitUntilStored()
        #expect(try place.devices.b.missingByteCount(of: place.b) == 2 << 20)
    }

    /// A member who may only read has the keys, so blocks that such a member seals open.
    ///
    /// With the help of the storage, they get to their place, and so does their hash.
    @Test(arguments: [false, true])
    func aLeafThatAnotherMemberSealedIsRefused(hasHash: Bool) throws {
        let place = try Place()
        let b = place.devices.b
        let row = try b.rows(of: place.b)[1]
        let origin = try b.state.withLock { try $0.tree.peek(place.b).origin }
        func sealed(_ bytes: [UInt8]) throws -> [UInt8] {
            let buffers = b.buffers.take()
            defer { b.buffers.giveBack(buffers) }
            let target = AlignedBuffer(forSealed: Self.sealedExtent)
            try b.contents.seal(
                bytes.span.bytes, of: origin, at: Int(row.base), row.prefix, b.keys, buffers, into: target)
            return target.withBytes(0..<Self.sealedExtent) { $0.array }
        }
        let right = try sealed(Array(place.content[1 << 20..<2 << 20]))
        let forged = try sealed([UInt8](repeating: 7, count: 1 << 20))
        let leaf = Array(forged[2 * Self.sealedLeaf..<3 * Self.sealedLeaf])
        let hash = Blake2bTree(.extent, leafByteCount: Self.sealedLeaf)
            .leaf(leaf.span.bytes, number: 2, isLast: false)
        try place.change(1) { pack, range in
            // With the author's bytes, the same is made: it is sealed as it should be.
            let isSame = Array(pack[range].prefix(Self.sealedExtent)) == right
            #expect(isSame)
            let start = range.lowerBound + 2 * Self.sealedLeaf
            pack.replaceSubrange(start..<start + Self.sealedLeaf, with: leaf)
            let hashes = range.lowerBound + Self.sealedExtent
            if hasHash { pack.replaceSubrange(hashes + 64..<hashes + 96, with: hash) }
        }
        #expect(fails("damaged") { _ = try place.seek((1 << 20) + 2 * Self.leaf) })
        #expect(fails("damaged") { _ = try place.devices.b.get(place.b, at: 1_200_000, count: 10) })
    }

    @Test func aSmallExtentHasNoHashes() throws {
        let devices = try TwoDevices()
        let (_, b) = try devices.file(Pattern.make(Self.leaf))
        let sealed = ExtentLayout.sealedByteCount(Self.leaf)
        #expect(devices.remote.byteCount == RemotePackHeader.byteCount + sealed)
        let buffer = AlignedBuffer(count: 10)
        _ = try devices.b.contents.read(b, at: 100, count: 10, into: buffer, demand: .leaves)
        #expect(devices.remote.state.withLock { $0.fetches.map(\.range.count) } == [sealed])
    }

    @Test func aPackThatIsCutWithinALeafHasNotArrived() throws {
        let place = try Place()
        try place.change(2) { pack, range in
            pack.removeLast(pack.count - range.lowerBound - 4 * Self.sealedLeaf - 10)
        }
        #expect(fails("notArrived") { _ = try place.seek((2 << 20) + 4 * Self.leaf) })
    }
}
