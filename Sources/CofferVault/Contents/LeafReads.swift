internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Fetches single leaves of extents that are only on a remote, for reads away from others.
///
/// A read of a leaf that is being fetched waits for that fetch. Leaves stay in memory only; an extent of which
/// programs read more is fetched as a whole, and then stored. Only threads that may wait call this; never under
/// a lock.
final class LeafReads: Sendable {
    /// The maximum number of leaves of an extent that are fetched one by one: half of the largest extent.
    static let leavesMax = 8

    private typealias Leaf = HeldLeaves.Leaf

    /// A leaf that is being fetched.
    private final class Fetch {
        /// Its sealed bytes; contains nil if the extent's leaves cannot be checked alone.
        var result: Result<BufferPart?, FileSystemError>?
    }

    private struct Shared {
        var underWay: [Leaf: Fetch] = [:]
        var held = HeldLeaves()
    }

    /// Also protects the contents of a `Fetch`.
    private let shared = Condition(Shared(), rank: .remoteReads)

    /// Whether an extent should be fetched as a whole: few bytes of it would be left, or it is read again and again.
    func isWorthAll(_ extent: SealedExtent, _ leaves: Range<Int>) -> Bool {
        if leaves.count > Self.leavesMax { return true }
        return shared.withLock { shared in
            (shared.held.fetchedCount(of: .init(extent.row), with: leaves) ?? .max) > Self.leavesMax
        }
    }

    /// Fetches the sealed bytes of some leaves.
    ///
    /// - Returns: A buffer, and where in it the leaves begin; nil if the remote does not have the hashes of the
    ///   leaves, so that only the whole extent can be checked.
    /// - Throws: `.damaged` if a leaf is not the one that the author of the content described; `.notArrived`,
    ///   `.unreachable`, `.timedOut`.
    func bring(
        _ extent: SealedExtent, _ leaves: Range<Int>, from remote: RemoteReads
    ) throws(FileSystemError) -> (buffer: AlignedBuffer, start: Int)? {
        let (mine, all, hashes) = claim(extent, leaves)
        fetch(extent, mine, hashes, from: remote)
        var parts: [BufferPart] = []
        for fetch in all {
            guard let part = try result(of: fetch) else { return nil }
            parts.append(part)
        }
        if parts.count == 1 { return (parts[0].buffer, parts[0].range.lowerBound) }
        let buffer = AlignedBuffer(forSealed: parts.reduce(0) { $0 + $1.count })
        var start = 0
        for part in parts {
            part.withBytes { buffer.copy($0, to: start) }
            start += part.count
        }
        return (buffer, 0)
    }

    private func result(of fetch: Fetch) throws(FileSystemError) -> BufferPart? {
        try shared.wait { _ in fetch.result }.get()
    }

    /// Drops what is known of an extent that is evicted, or that is held as a whole.
    func forget(_ row: ExtentRow) { shared.withLock { $0.held.remove(.init(row)) } }

    /// Drops all leaves in memory.
    func letGo() { shared.withLock { $0.held.dropLeaves() } }

    /// - Returns: The leaves that the caller fetches, the fetches of all leaves, and the hashes of the extent's
    ///   leaves, if they are known.
    private func claim(
        _ extent: SealedExtent, _ leaves: Range<Int>
    ) -> (mine: [Int], all: [Fetch], hashes: LeafHashes?) {
        shared.withLock { shared in
            let key = HeldExtent(extent.row)
            let hashes = shared.held.hashes(of: key)
            var mine: [Int] = []
            var all: [Fetch] = []
            for number in leaves {
                let leaf = Leaf(extent: key, number: number)
                let fetch = shared.underWay[leaf] ?? Fetch()
                all.append(fetch)
                if shared.underWay[leaf] != nil { continue }
                if let part = shared.held[leaf] {
                    fetch.result = .success(part)
                } else {
                    shared.underWay[leaf] = fetch
                    mine.append(number)
                }
            }
            return (mine, all, hashes)
        }
    }

    /// Fetches the leaves that the caller has claimed, in ascending order, with those between them.
    private func fetch(
        _ extent: SealedExtent, _ mine: [Int], _ known: LeafHashes?, from remote: RemoteReads
    ) {
        guard let first = mine.first, let last = mine.last else { return }
        let leaves = first..<last + 1
        let total = Int(extent.row.total)
        let key = HeldExtent(extent.row)
        func finish(_ result: Result<BufferPart?, FileSystemError>) {
            for number in mine { self.finish(Leaf(extent: key, number: number), result) }
        }
        guard let place = extent.remotePlace else { return finish(.failure(.stale)) }
        do throws(FileSystemError) {
            guard let (sealed, hashes) = try bytes(of: extent, at: place, leaves, known, from: remote) else {
                return finish(.success(nil))
            }
            if known == nil { shared.withLock { $0.held.add(hashes, of: key) } }
            for number in mine {
                let start = number * ExtentLayout.sealedLeafByteCount
                let range = ExtentLayout.sealedRange(ofLeaves: number..<number + 1, total: total)
                let from = start - leaves.lowerBound * ExtentLayout.sealedLeafByteCount
                let part = sealed[from..<from + range.count]
                let isRight = part.withBytes { hashes.isLeaf($0, number: number) }
                let error = FileSystemError.damaged(
                    place: "byte \(Int(place.position) + start) of remote pack \(place.pack)")
                self.finish(Leaf(extent: key, number: number), isRight ? .success(part) : .failure(error))
            }
        } catch {
            finish(.failure(error))
        }
    }

    /// Fetches leaves, and the hashes of all leaves if they are not known, in one round trip; nil if the remote
    /// does not have these hashes.
    private func bytes(
        of extent: SealedExtent, at place: SealedPlace, _ leaves: Range<Int>, _ known: LeafHashes?,
        from remote: RemoteReads
    ) throws(FileSystemError) -> (sealed: BufferPart, hashes: LeafHashes)? {
        let (total, position) = (Int(extent.row.total), Int(place.position))
        let sealed = ExtentLayout.sealedRange(ofLeaves: leaves, total: total)
        let wanted = position + sealed.lowerBound..<position + sealed.upperBound
        if let known { return (try remote.fetch(place.pack, wanted), known) }
        let end = position + ExtentLayout.sealedByteCount(total)
        let hashes = end..<end + ExtentLayout.leafHashesByteCount(total)
        let (leaf, rest) = try remote.fetch(place.pack, wanted, with: hashes)
        return rest.flatMap { LeafHashes($0.bytes, of: total, with: place.hash) }.map { (leaf, $0) }
    }

    /// Reports the result of a leaf to the threads that wait for it.
    private func finish(_ leaf: Leaf, _ result: Result<BufferPart?, FileSystemError>) {
        shared.update { shared in
            shared.underWay.removeValue(forKey: leaf)?.result = result
            if case .success(let part?) = result { shared.held.add(part, leaf) }
        }
    }
}
