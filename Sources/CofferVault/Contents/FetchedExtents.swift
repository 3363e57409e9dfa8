internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// What a read demands of extents that are only on a remote.
package enum FetchDemand: Sendable {
    /// The bytes that it reads; whole extents are fetched, and stored.
    case bytes
    /// The bytes that it reads, and no more: it is away from other reads.
    case leaves
    /// Whole extents, so that they are stored: leaves are of no use.
    case extents
}

/// The extents that one read fetches from a remote: as a whole, or only the leaves that it needs.
struct FetchedExtents {
    let demand: FetchDemand
    private var whole: [Int64: BufferPart] = [:]

    init(_ demand: FetchDemand) {
        self.demand = demand
    }

    /// Fetches what a read needs of an extent.
    ///
    /// - Parameters:
    ///   - wanted: The bytes that are read, as offsets in the item.
    ///   - extents: The extents of the read, beginning with this one.
    /// - Throws: `.damaged` if a leaf of `wanted` is damaged; other leaves matter only if whole extents are demanded.
    ///   `.stale` if the extent was stored or replaced after it was looked up; `.notArrived`, `.unreachable`,
    ///   `.timedOut`.
    mutating func source(
        of extent: SealedExtent, _ wanted: Range<Int64>, before extents: ArraySlice<SealedExtent>,
        in vault: Vault
    ) throws(FileSystemError) -> SealedExtent.Source {
        let blocks = try vault.contents.blocks(of: extent, wanted)
        let leaves = ExtentLayout.leaves(ofBlocks: blocks)
        let hasLeaves = ExtentLayout.leafHashesByteCount(Int(extent.row.total)) > 0
        let remoteReads = vault.remoteReads
        if hasLeaves, demand == .leaves, whole[extent.row.remote] == nil, !remoteReads.isComing(extent.row),
            !remoteReads.leaves.isWorthAll(extent, leaves),
            let source = try Self.source(of: extent, leaves, in: vault)
        {
            return source
        }
        do throws(FileSystemError) {
            if whole[extent.row.remote] == nil { whole = try Self.bring(extents, of: extent, in: vault) }
        } catch {
            // Only readers of what is damaged must notice it.
            guard case .damaged = error, hasLeaves, demand != .extents,
                let source = try Self.source(of: extent, leaves, in: vault)
            else { throw error }
            return source
        }
        guard let sealed = whole[extent.row.remote] else { throw .stale }
        return .held(sealed)
    }

    /// Fetches leaves; nil if they cannot be checked alone.
    private static func source(
        of extent: SealedExtent, _ leaves: Range<Int>, in vault: Vault
    ) throws(FileSystemError) -> SealedExtent.Source? {
        let sealed = try vault.remoteReads.leaves.bring(extent, leaves, from: vault.remoteReads)
        // A thread drops them from memory some time later.
        vault.remoteReads.callFetchers(1, for: vault)
        guard let sealed else { return nil }
        let from = leaves.lowerBound * ExtentLayout.sealedLeafByteCount
        return .buffer(sealed.buffer, place: sealed.start, from: from)
    }

    /// Fetches an extent with the next ones, up to the memory limit for one fetch; alone if one of those fails.
    private static func bring(
        _ extents: ArraySlice<SealedExtent>, of extent: SealedExtent, in vault: Vault
    ) throws(FileSystemError) -> [Int64: BufferPart] {
        var next: [SealedExtent] = []
        var count = 0
        for extent in extents where extent.remotePlace != nil {
            count += extent.sealedByteCount
            if !next.isEmpty, count > RemoteReads.runByteCountMax { break }
            next.append(extent)
        }
        do throws(FileSystemError) { return try vault.remoteReads.bring(next, in: vault) } catch {
            if let sealed = vault.remoteReads.held(extent.row) { return [extent.row.remote: sealed] }
            guard next.count > 1, error.isOfOneExtent else { throw error }
            return try vault.remoteReads.bring([extent], in: vault)
        }
    }
}
