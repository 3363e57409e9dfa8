internal import CofferFormat
internal import CofferStore

/// Which extents stand at the remote now, as far as a look at the sizes of packs tells.
///
/// A storage loses things. What is here may be the last copy: it is given up only if the remote was seen to have it.
struct SeenPacks {
    private let vault: Vault
    /// Bytes of packs at the remote; 0 of those that are not there.
    private var byteCounts: [PackID: Int] = [:]
    /// Bytes of contents that are here, and not at the remote, by packs.
    private var lost: [PackID: Int64] = [:]
    /// Whether the remote did not answer.
    private(set) var isSilent = false

    init(vault: Vault) {
        self.vault = vault
    }

    /// Whether the remote has the extent of a range whole.
    mutating func has(_ row: ExtentRow) throws(FileSystemError) -> Bool {
        let place = try vault.reading { state throws(FileSystemError) -> SealedPlace? in
            // Meanwhile it may have been written over.
            let rows = try self.vault.rows(ofExtent: row, state)
            guard rows.contains(where: { $0.remote == row.remote }) else { return nil }
            return try storing { () throws(StoreError) in try state.index.remoteExtent(row.remote).place }
        }
        guard let place, let byteCount = try byteCount(of: place.pack) else { return false }
        let end = Int(place.position) + ExtentLayout.sealedByteCount(Int(row.total))
        if end <= byteCount { return true }
        lost[place.pack, default: 0] += row.length
        return false
    }

    /// Nil if the remote does not answer.
    private mutating func byteCount(of pack: PackID) throws(FileSystemError) -> Int? {
        if let known = byteCounts[pack] { return known }
        if isSilent { return nil }
        do throws(FileSystemError) {
            byteCounts[pack] = try vault.remoteReads.byteCount(of: pack)
        } catch {
            switch error {
            case .notArrived: byteCounts[pack] = 0
            case .unreachable, .timedOut: isSilent = true
            default: throw error
            }
        }
        return byteCounts[pack]
    }

    /// How many packs are asked for in one go.
    private static let batchCount = 64

    /// Asks for the sizes of packs that will be needed, several at a time.
    ///
    /// What the remote does not answer now is asked for when it is needed.
    mutating func prepare(_ packs: [PackID]) {
        var rest = packs.filter { $0 != .nowhere && byteCounts[$0] == nil }[...]
        while !rest.isEmpty {
            let batch = rest.prefix(Self.batchCount)
            rest = rest.dropFirst(batch.count)
            let found = vault.remoteReads.byteCounts(of: Array(batch))
            byteCounts.merge(found) { _, new in new }
            if found.count < batch.count { return }
        }
    }

    /// Tells of packs that the remote has lost, and of those that it has again.
    func tell() {
        for pack in byteCounts.keys {
            if let byteCount = lost[pack] {
                vault.problems.add(
                    "Remote pack \(pack) is not at the remote, or cut short: \(byteCount) bytes of contents that "
                        + "it had are on this device, and are not given up.",
                    about: .remotePack(pack))
            } else {
                vault.problems.remove(about: .remotePack(pack))
            }
        }
    }

    /// Whether a range of a file can be read.
    enum Readability {
        case yes, no
        /// The remote does not answer.
        case unknown
    }

    /// Whether all of a range is here or at the remote.
    mutating func readability(of number: Int64, _ range: Range<Int64>) -> Readability {
        // A file that is not there any more needs nothing.
        for extent in (try? vault.missingExtents(of: number, range)) ?? [] {
            guard let place = extent.remotePlace else { continue }
            // Its pages come first.
            if place.pack == .nowhere { return .no }
            guard let byteCount = try? byteCount(of: place.pack) else { return .unknown }
            if Int(place.position) + extent.sealedByteCount > byteCount { return .no }
        }
        return .yes
    }

    /// The sizes of the packs that have those parts of a file's ranges which are not here, 0 for what has no known pack;
    /// nil if the remote does not answer.
    mutating func sizes(of number: Int64, _ ranges: [Range<Int64>]) -> [PackID: Int]? {
        var sizes: [PackID: Int] = [:]
        for range in ranges {
            for extent in (try? vault.missingExtents(of: number, range)) ?? [] {
                guard let pack = extent.remotePlace?.pack else { continue }
                if pack == .nowhere {
                    sizes[pack] = 0
                    continue
                }
                guard let byteCount = try? byteCount(of: pack) else { return nil }
                sizes[pack] = byteCount
            }
        }
        return sizes
    }

    /// Whether what says where the content of a file is cannot be had: not if it is there, and is just not taken in yet.
    private mutating func isOwedForGood(_ number: Int64) -> Bool {
        switch vault.owedContent(of: number) {
        case .isNewer: return false
        case .isDamaged, nil: return true
        case .mayArrive: break
        }
        guard let page = vault.owedPage(of: number)?.place, let byteCount = try? byteCount(of: page.pack)
        else {
            return true
        }
        return Int(page.position) >= byteCount
    }

    /// Whether a range that is not on this device is not at the remote either; false if the remote does not answer.
    mutating func isLost(_ range: Range<Int64>, of number: Int64) -> Bool {
        for extent in (try? vault.missingExtents(of: number, range)) ?? [] {
            guard let place = extent.remotePlace, let byteCount = try? byteCount(of: place.pack) else {
                continue
            }
            if place.pack == .nowhere {
                if isOwedForGood(number) { return true }
            } else if Int(place.position) + extent.sealedByteCount > byteCount {
                return true
            }
        }
        return false
    }
}
