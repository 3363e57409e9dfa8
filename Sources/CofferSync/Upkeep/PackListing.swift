internal import CofferFormat
internal import CofferRemote

/// The packs at the remote, compared with those in use.
struct PackListing {
    /// Those in use that the listing lacks.
    var missing: [RemoteName: PackID] = [:]
    /// Those that are listed and not in use, with their sizes.
    private(set) var unused: [PackID: Int] = [:]
    /// The sizes of all that are listed.
    private(set) var byteCount = 0

    /// Adds a listed object.
    mutating func add(_ name: RemoteName, _ size: Int) {
        byteCount += size
        guard missing.removeValue(forKey: name) == nil, let pack = name.pack else { return }
        unused[pack] = size
    }
}

extension RemoteName {
    /// The pack of this name; nil for another object.
    fileprivate var pack: PackID? {
        let segments = segments
        return segments.count == 4 ? PackID(hexadecimal: String(segments[3])) : nil
    }
}
