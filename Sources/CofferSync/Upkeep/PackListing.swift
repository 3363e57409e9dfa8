internal import CofferFacts
internal import CofferFormat
internal import CofferRemote

/// The packs at the remote, compared with those in use.
struct PackListing {
    /// The most packs that are not in use and that are remembered.
    private static let unusedCountMax = 1 << 16
    /// A pack is sparse if one of so many parts of it is not in use.
    private static let sparseFraction = 4
    /// Packs with fewer bytes than this are small.
    private static let smallByteCount = RemotePackHeader.packByteCountMax / 4

    /// Those in use that the listing lacks.
    private(set) var missing: [RemoteName: PackID] = [:]
    /// Those that are listed and not in use; if there are many, some of them.
    private(set) var unused: Set<PackID> = []
    /// The sizes of all of those, in bytes.
    private(set) var unusedByteCount = 0
    /// The sizes of all that are listed, in bytes.
    private(set) var byteCount = 0
    /// The sizes of those that are listed and in use, in bytes.
    private var sizes: [PackID: Int] = [:]
    private let used: Set<PackID>

    /// Compares packs in use with a listing that is about to be added.
    init(used: Set<PackID>, _ layout: RemoteLayout) {
        self.used = used
        for pack in used { missing[layout.pack(pack)] = pack }
    }

    /// Adds a listed object; the storage may list anything.
    mutating func add(_ name: RemoteName, _ size: Int) {
        missing[name] = nil
        let size = min(size, RemotePackHeader.packByteCountMax)
        byteCount += size
        guard let pack = name.pack else { return }
        if used.contains(pack) {
            sizes[pack] = size
        } else if unused.count < Self.unusedCountMax, unused.insert(pack).inserted {
            unusedByteCount += size
        }
    }

    /// Packs that contents are worth moving out of.
    struct Sparse: Equatable {
        var packs: Set<PackID> = []
        /// How many bytes contents refer to in them, and how many bytes would be free.
        var usedByteCount = 0, freeByteCount = 0
        /// Whether there are many small packs.
        var hasManySmall = false
    }

    /// Finds packs of which much is not in use, and small packs if there are many; first those that free the most.
    ///
    /// - Parameters:
    ///   - left: Packs that contents have left before: what is in use of them stays there.
    ///   - byteCountMax: The most bytes to move.
    ///   - smallCountMin: From how many small packs on contents move out of them.
    func sparse(
        _ use: [PackID: RemotePackUse], besides left: Set<PackID>, byteCountMax: Int, smallCountMin: Int
    ) -> Sparse {
        var result = Sparse()
        let sizes = sizes.filter { use[$0.key]?.hasPast == false && !left.contains($0.key) }
        let small = sizes.filter { $0.value < Self.smallByteCount }
        result.hasManySmall = small.count >= smallCountMin
        let candidates = sizes.compactMap { pack, size -> (pack: PackID, used: Int, free: Int)? in
            guard let use = use[pack] else { return nil }
            let free = size - use.byteCount
            guard
                free * Self.sparseFraction >= size && free > 0 || result.hasManySmall && small[pack] != nil
            else { return nil }
            return (pack, use.byteCount, max(0, free))
        }
        for (pack, used, free) in candidates.sorted(by: { ($0.used, $0.pack) < ($1.used, $1.pack) })
        where result.usedByteCount + used <= byteCountMax {
            result.packs.insert(pack)
            result.usedByteCount += used
            result.freeByteCount += free
        }
        return result
    }
}

extension RemoteName {
    /// The pack of this name; nil for another object.
    var pack: PackID? {
        let segments = segments
        return segments.count == 4 ? PackID(hexadecimal: String(segments[3])) : nil
    }
}
