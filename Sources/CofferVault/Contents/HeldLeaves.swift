internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Recently fetched leaves of extents that are only on a remote, in memory, and what is known of these extents.
struct HeldLeaves {
    /// The maximum number of bytes of all buffers with leaves.
    static let byteCountMax = 8 << 20
    /// The maximum number of extents of which hashes of leaves are kept: 512 bytes each.
    static let extentsMax = 4096

    /// A leaf, by its number in its extent.
    struct Leaf: Hashable {
        let extent: HeldExtent
        let number: Int
    }

    private struct Known {
        var hashes: LeafHashes?
        /// The leaves that were ever fetched: bit i for leaf i.
        var fetched: UInt16 = 0
    }

    private var parts: [Leaf: BufferPart] = [:]
    /// The leaves, oldest first.
    private var order: [Leaf] = []
    private var byteCount = 0
    private var known: [HeldExtent: Known] = [:]
    /// The extents, oldest first.
    private var extents: [HeldExtent] = []

    /// The sealed bytes of a leaf, from the first one.
    subscript(leaf: Leaf) -> BufferPart? { parts.isEmpty ? nil : parts[leaf] }

    /// The hashes of an extent's leaves, if they are known.
    func hashes(of extent: HeldExtent) -> LeafHashes? { known[extent]?.hashes }

    /// The number of different leaves of an extent that will have been fetched with these; nil if one of them was
    /// fetched before, and is not held any more.
    func fetchedCount(of extent: HeldExtent, with leaves: Range<Int>) -> Int? {
        var fetched = known[extent]?.fetched ?? 0
        for number in leaves where parts[Leaf(extent: extent, number: number)] == nil {
            if fetched & 1 << UInt16(number) != 0 { return nil }
            fetched |= 1 << UInt16(number)
        }
        return fetched.nonzeroBitCount
    }

    /// Adds a leaf, and drops the oldest ones.
    mutating func add(_ part: BufferPart, _ leaf: Leaf) {
        change(leaf.extent) { $0.fetched |= 1 << UInt16(leaf.number) }
        // A part keeps all of its buffer in memory, in which there may be other leaves.
        let part = part.buffer.count > 2 * part.count ? BufferPart(copying: part.bytes) : part
        guard parts.updateValue(part, forKey: leaf) == nil else { return }
        order.append(leaf)
        byteCount += part.buffer.count
        while byteCount > Self.byteCountMax {
            byteCount -= parts.removeValue(forKey: order.removeFirst())?.buffer.count ?? 0
        }
    }

    /// Adds the hashes of an extent's leaves, and drops those of the oldest extents.
    mutating func add(_ hashes: LeafHashes, of extent: HeldExtent) { change(extent) { $0.hashes = hashes } }

    private mutating func change(_ extent: HeldExtent, _ body: (inout Known) -> Void) {
        if known[extent] == nil {
            extents.append(extent)
            if extents.count > Self.extentsMax, let oldest = extents.first { remove(oldest) }
        }
        body(&known[extent, default: Known()])
    }

    /// Drops all leaves; what is known of their extents stays.
    mutating func dropLeaves() { (parts, order, byteCount) = ([:], [], 0) }

    /// Drops an extent that is evicted, or that is held as a whole.
    mutating func remove(_ extent: HeldExtent) {
        guard known.removeValue(forKey: extent) != nil else { return }
        extents.removeAll { $0 == extent }
        order.removeAll { leaf in
            guard leaf.extent == extent else { return false }
            byteCount -= parts.removeValue(forKey: leaf)?.buffer.count ?? 0
            return true
        }
    }
}
