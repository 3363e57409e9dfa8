internal import CofferFormat
internal import CofferRemote

/// The packs at the remote, compared with those in use.
struct PackListing {
    /// The most packs that are not in use and that are remembered.
    private static let unusedCountMax = 1 << 16

    /// Those in use that the listing lacks.
    private(set) var missing: [RemoteName: PackID] = [:]
    /// Those that are listed and not in use; if there are many, some of them.
    private(set) var unused: Set<PackID> = []
    /// The sizes of all of those, in bytes.
    private(set) var unusedByteCount = 0
    /// The sizes of all that are listed, in bytes.
    private(set) var byteCount = 0
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
        guard let pack = name.pack, !used.contains(pack), unused.count < Self.unusedCountMax,
            unused.insert(pack).inserted
        else { return }
        unusedByteCount += size
    }
}

extension RemoteName {
    /// The pack of this name; nil for another object.
    fileprivate var pack: PackID? {
        let segments = segments
        return segments.count == 4 ? PackID(hexadecimal: String(segments[3])) : nil
    }
}
