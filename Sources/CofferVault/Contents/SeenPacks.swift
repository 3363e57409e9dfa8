internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Which extents are on the remote now, judging by the sizes of packs.
///
/// Storage loses data, and a local copy may be the last one. It is evicted only if the remote was seen to
/// have another.
struct SeenPacks {
    private let vault: Vault
    /// The sizes of packs on the remote; 0 for packs that are not there.
    private var byteCounts: [PackID: Int] = [:]
    /// The number of content bytes, by pack, that are on this device and not on the remote.
    private var lost: [PackID: Int64] = [:]
    /// Whether the remote did not answer.
    private(set) var isSilent = false

    init(vault: Vault) {
        self.vault = vault
    }

    /// Whether the remote has the whole extent of a range.
    mutating func has(_ row: ExtentRow) throws(FileSystemError) -> Bool {
        let place = try vault.reading { state throws(FileSystemError) -> SealedPlace? in
            // It may have been overwritten in the meantime.
            let rows = try state.rows(ofExtent: row)
            guard rows.contains(where: { $0.remote == row.remote }) else { return nil }
            return try state.index.remoteExtent(row.remote).place
        }
        guard let place, let byteCount = try byteCount(of: place.pack) else { return false }
        let end = Int(place.position) + ExtentLayout.sealedByteCount(Int(row.total))
        if end <= byteCount { return true }
        lost[place.pack, default: 0] += row.length
        return false
    }

    /// The size of a pack on the remote; nil if the remote does not answer.
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

    /// The number of packs that are asked for together.
    private static let batchCount = 64

    /// Asks for the sizes of packs that will be needed, several at a time.
    ///
    /// Sizes that the remote does not return now are asked for when they are needed.
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

    /// Reports packs that the remote has lost, and withdraws reports of those that it has again.
    func tell() {
        for pack in byteCounts.keys {
            if let byteCount = lost[pack] {
                vault.problems.add(
                    "Remote pack \(pack) is not at the remote, or cut short: \(ByteText.of(Int64(byteCount))) of "
                        + "its contents are on this device, and are not evicted.",
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

    /// Whether every byte of a range is on this device or on the remote.
    mutating func readability(of number: Int64, _ range: Range<Int64>) -> Readability {
        // A removed file needs nothing.
        for extent in (try? vault.contents.missingExtents(of: number, range)) ?? [] {
            guard let place = extent.remotePlace else { continue }
            // The pages of the content must arrive first.
            if place.pack == .nowhere { return .no }
            guard let byteCount = try? byteCount(of: place.pack) else { return .unknown }
            if Int(place.position) + extent.sealedByteCount > byteCount { return .no }
        }
        return .yes
    }

    /// The sizes of the packs with those parts of a file's ranges that are not on this device; 0 for unknown
    /// packs.
    ///
    /// Nil if the remote does not answer.
    mutating func sizes(of number: Int64, _ ranges: [Range<Int64>]) -> [PackID: Int]? {
        var sizes: [PackID: Int] = [:]
        for range in ranges {
            for extent in (try? vault.contents.missingExtents(of: number, range)) ?? [] {
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

    /// Whether the description of a file's content cannot be fetched; false if it is on the remote and not
    /// yet applied.
    private mutating func isOwedForGood(_ number: Int64) -> Bool {
        switch vault.contents.owedContent(of: number) {
        case .isNewer: return false
        case .isDamaged, nil: return true
        case .mayArrive: break
        }
        guard let page = vault.contents.owedPage(of: number)?.place,
            let byteCount = try? byteCount(of: page.pack)
        else {
            return true
        }
        return Int(page.position) >= byteCount
    }

    /// Whether part of a range is neither on this device nor on the remote; false if the remote does not
    /// answer.
    mutating func isLost(_ range: Range<Int64>, of number: Int64) -> Bool {
        for extent in (try? vault.contents.missingExtents(of: number, range)) ?? [] {
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
