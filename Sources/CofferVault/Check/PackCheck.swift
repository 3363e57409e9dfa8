internal import CofferFacts
package import CofferFormat
internal import CofferStore
internal import CofferSystem

/// A check of the packs at a remote to which the contents of a vault refer.
///
/// `compare` takes a listing, `read` fetches the bytes. `problems` looks again at what seemed wrong: contents move and
/// packs are deleted meanwhile, and what nothing refers to any more is no loss. For one thread; waits for the remote,
/// and takes the vault's lock only briefly. Keeps nothing of what it fetches.
package struct PackCheck {
    /// The most paths that a problem has.
    package static let pathCountMax = 10
    /// About how many pieces are looked up in one pass over the index, and how many sizes are asked for at a time.
    private static let piecesAtOnce = 1 << 19, sizesAtOnce = 64
    /// After so many packs in a row that cannot be fetched, no more are.
    private static let failureCountMax = 3
    /// The most damaged pieces that are remembered.
    private static let damagedCountMax = 1 << 16

    private let vault: Vault
    private let isWanted: @Sendable () -> Bool
    /// Where the last piece that is needed ends in each pack.
    private var ends: [PackID: Int] = [:]
    /// How often contents refer to each pack.
    private var useCounts: [PackID: Int] = [:]
    /// The sizes of packs that are too short; 0 for those that are not there.
    private var short: [PackID: Int] = [:]
    /// Packs of which nothing is known.
    private var unknown: Set<PackID> = []
    /// Pieces that do not match their hashes.
    private var damaged: Set<SealedPlace> = []
    /// The bytes to which contents refer in these packs.
    package private(set) var byteCount = 0
    /// The bytes that were fetched and compared with their hashes.
    package private(set) var readByteCount = 0
    /// Sentences about what could not be checked, and why.
    package private(set) var unchecked: [String] = []

    /// Begins a check of what contents refer to now.
    ///
    /// - Parameter isWanted: Whether to go on; asked between requests to the remote.
    package init(
        of vault: Vault, while isWanted: @escaping @Sendable () -> Bool = { true }
    ) throws(FileSystemError) {
        (self.vault, self.isWanted) = (vault, isWanted)
        let used = try vault.cache.remotePacks()
        if !used.isComplete {
            unchecked.append(
                "The descriptions of some contents have not arrived: where these contents are is not known.")
        }
        let reader = try Self.reader(of: vault)
        byteCount = try reader.remotePackUse().values.reduce(0) { $0 + $1.byteCount }
        var (ends, useCounts): ([PackID: Int], [PackID: Int]) = ([:], [:])
        try reader.eachRemoteUse { use in
            ends[use.place.pack] = max(ends[use.place.pack] ?? 0, use.end)
            useCounts[use.place.pack, default: 0] += 1
        }
        ends[.nowhere] = nil
        (self.ends, self.useCounts) = (ends, useCounts)
    }

    private static func reader(of vault: Vault) throws(FileSystemError) -> IndexReader {
        try vault.state.withLock { state throws(FileSystemError) in try state.index.makeReader() }
    }

    /// The packs that are needed.
    package var packs: Set<PackID> { Set(ends.keys) }

    /// Whether anything seems to be wrong.
    package var isSuspicious: Bool { !short.isEmpty || !damaged.isEmpty }

    // MARK: Sizes

    /// Compares the packs with a listing; asks for those that it lacks, or shows too short, as it may be old.
    ///
    /// - Parameter listed: The sizes of packs, as far as the listing shows them.
    package mutating func compare(with listed: [PackID: Int]) {
        let doubtful = ends.filter { listed[$0.key] ?? 0 < $0.value }.keys.sorted()
        let sizes = sizes(of: doubtful)
        for pack in doubtful {
            guard let size = sizes[pack] else {
                unknown.insert(pack)
                continue
            }
            if size < ends[pack] ?? 0 { short[pack] = size }
        }
        guard !unknown.isEmpty else { return }
        unchecked.append(
            "\(share(unknown.count)) not compared, because the remote did not answer.")
    }

    /// The beginning of a sentence about some of the packs.
    private func share(_ count: Int) -> String {
        "\(count) of \(ends.count) pack\(ends.count == 1 ? "" : "s") \(count == 1 ? "was" : "were")"
    }

    /// The sizes of packs that the remote gives when it is asked for each; 0 for those that are not there.
    ///
    /// Ends where it does not answer, or when nobody waits any more.
    private func sizes(of packs: [PackID]) -> [PackID: Int] {
        var sizes: [PackID: Int] = [:]
        for start in stride(from: 0, to: packs.count, by: Self.sizesAtOnce) where isWanted() {
            let batch = Array(packs[start..<min(start + Self.sizesAtOnce, packs.count)])
            sizes.merge(vault.remoteReads.byteCounts(of: batch)) { _, new in new }
            if sizes.count < start + batch.count { break }
        }
        return sizes
    }

    // MARK: Bytes

    /// Fetches all pieces that contents refer to, pack by pack, and compares them with their hashes.
    ///
    /// - Parameter progress: Called with the number of bytes that are done, and of all.
    package mutating func read(_ progress: (Int, Int) -> Void) {
        let wanted = ends.keys.filter { short[$0] != 0 && !unknown.contains($0) }.sorted()
        var (failures, unread) = (0, 0)
        var reason = ""
        var rest = wanted[...]
        while !rest.isEmpty {
            var count = 0
            let batch = rest.prefix { pack in
                defer { count += useCounts[pack] ?? 0 }
                return count < Self.piecesAtOnce
            }
            rest = rest.dropFirst(batch.count)
            var pieces: [PackID: [Piece]]
            do throws(FileSystemError) { pieces = try self.pieces(in: Set(batch)) } catch {
                return unchecked.append("Not all packs were read: \(error.summary).")
            }
            for pack in batch {
                guard isWanted(), !vault.upkeep.isStopped, damaged.count < Self.damagedCountMax else {
                    return unchecked.append("Not all packs were read: the check ended early.")
                }
                if failures == Self.failureCountMax {
                    unread += 1
                    continue
                }
                do throws(FileSystemError) {
                    try read(pieces.removeValue(forKey: pack) ?? [], of: pack, progress)
                    failures = 0
                } catch {
                    if case .notArrived = error, let size = sizes(of: [pack])[pack], size < ends[pack] ?? 0 {
                        short[pack] = size
                        continue
                    }
                    (failures, unread, reason) = (failures + 1, unread + 1, error.summary)
                }
            }
        }
        guard unread > 0 else { return }
        unchecked.append("\(share(unread)) not read, or only in part: \(reason).")
    }

    /// A piece of a pack.
    private struct Piece: Hashable {
        let place: SealedPlace
        let sealedByteCount: Int, byteCount: Int
        let isPage: Bool

        init(_ use: IndexReader.RemoteUse) {
            (place, isPage) = (use.place, use.isPage)
            (sealedByteCount, byteCount) = (use.sealedByteCount, use.byteCount)
        }

        var range: Range<Int> { Int(place.position)..<Int(place.position) + byteCount }

        /// Whether bytes have the piece's hash; those after an extent are the hashes of its leaves.
        func matches(_ part: BufferPart) -> Bool {
            if isPage { return part.withBytes { RemoteHash.page($0) } == place.hash }
            let hashes = part[0..<sealedByteCount].withBytes { LeafHashes(of: $0) }
            guard hashes.root == place.hash else { return false }
            return byteCount == sealedByteCount || part[sealedByteCount..<byteCount].bytes == hashes.bytes
        }
    }

    /// What contents refer to now in some packs, in the order of places.
    private func pieces(in packs: Set<PackID>) throws(FileSystemError) -> [PackID: [Piece]] {
        var found: [PackID: Set<Piece>] = [:]
        try Self.reader(of: vault).eachRemoteUse { use in
            guard packs.contains(use.place.pack) else { return }
            found[use.place.pack, default: []].insert(Piece(use))
        }
        return found.mapValues { $0.sorted { $0.place.position < $1.place.position } }
    }

    private mutating func read(
        _ pieces: [Piece], of pack: PackID, _ progress: (Int, Int) -> Void
    ) throws(FileSystemError) {
        let size = short[pack] ?? .max
        var rest = pieces.filter { $0.range.upperBound <= size }[...]
        while let first = rest.first {
            var range = first.range
            let others = rest.dropFirst().prefix { piece in
                guard piece.range.lowerBound - range.upperBound <= RemoteReads.gapByteCountMax,
                    piece.range.upperBound - range.lowerBound <= RemoteReads.runByteCountMax
                else { return false }
                range = range.lowerBound..<max(range.upperBound, piece.range.upperBound)
                return true
            }
            let run = rest.prefix(1 + others.count)
            rest = rest.dropFirst(run.count)
            let bytes = try vault.remoteReads.fetch(pack, range)
            for piece in run {
                let start = piece.range.lowerBound - range.lowerBound
                if !piece.matches(bytes[start..<start + piece.byteCount]) {
                    // It may have been damaged on the way.
                    let again = try vault.remoteReads.fetch(pack, piece.range)
                    if !piece.matches(again) { damaged.insert(piece.place) }
                }
                readByteCount += piece.byteCount
            }
            progress(readByteCount, max(byteCount, readByteCount))
        }
    }

    // MARK: Problems

    /// Looks again at what seemed to be wrong.
    ///
    /// - Parameter isBehind: Whether contents may have moved without this device knowing, so that packs may be gone
    ///   rightly. Damaged ones are reported even so.
    /// - Returns: The packs that lack something to which contents refer now, in the order of their ids.
    package mutating func problems(isBehind: Bool = false) throws(FileSystemError) -> [PackProblem] {
        guard isSuspicious else { return [] }
        let sizes = isBehind ? [:] : self.sizes(of: short.keys.sorted())
        let openCount = short.count - sizes.count
        if openCount > 0 {
            let packs = openCount == 1 ? "1 pack seems" : "\(openCount) packs seem"
            let reason =
                isBehind
                ? "this device has not applied everything new, and contents may have moved to other packs"
                : "the remote did not answer when it was asked again"
            unchecked.append("\(packs) to be missing or cut short, which could not be confirmed: \(reason).")
        }
        _ = try vault.cache.remotePacks()
        let reader = try Self.reader(of: vault)
        var found: [PackID: PackProblem] = [:]
        var items: [PackID: (present: Set<Int64>, past: Set<Int64>)] = [:]
        try reader.eachRemoteUse { use in
            let pack = use.place.pack
            let isCut = sizes[pack].map { use.end > $0 } ?? false
            guard isCut || damaged.contains(use.place) else { return }
            found[pack, default: PackProblem(pack: pack)].add(use, cutAt: isCut ? sizes[pack] : nil)
            if use.isPast {
                items[pack, default: ([], [])].past.insert(use.item)
            } else {
                items[pack, default: ([], [])].present.insert(use.item)
            }
        }
        let named = items.mapValues { $0.present.sorted().prefix(Self.pathCountMax) }
        let paths = try reader.paths(of: Set(named.values.joined()), below: Vault.rootNumber)
        return found.values.sorted { $0.pack < $1.pack }.map { problem in
            var problem = problem
            problem.name(
                (named[problem.pack] ?? []).compactMap { paths[$0] },
                of: items[problem.pack]?.present.count ?? 0, past: items[problem.pack]?.past.count ?? 0)
            return problem
        }
    }
}

/// A pack at a remote that lacks something to which contents refer.
package struct PackProblem: Equatable, Sendable {
    /// What is wrong with a pack.
    package enum Fault: Equatable, Sendable {
        /// It is not there.
        case missing
        /// It has only its first bytes.
        case cut(byteCount: Int)
        /// It has other bytes than its author put.
        case damaged
    }

    /// The pack.
    package let pack: PackID
    /// What is wrong with it.
    package private(set) var fault = Fault.damaged
    /// The paths of files with contents in what is lost: of some of those that have a name, each by one of them.
    package private(set) var paths: [String] = []
    /// The number of these files, and the number of past versions.
    package private(set) var fileCount = 0, pastCount = 0
    /// The bytes of content in what is lost, and those of them that are also on this device.
    package private(set) var byteCount: Int64 = 0, hereByteCount: Int64 = 0

    init(pack: PackID) { self.pack = pack }

    fileprivate mutating func add(_ use: IndexReader.RemoteUse, cutAt size: Int?) {
        if let size { fault = size == 0 ? .missing : .cut(byteCount: size) }
        byteCount += use.length
        if use.isHere { hereByteCount += use.length }
    }

    fileprivate mutating func name(_ paths: [String], of fileCount: Int, past pastCount: Int) {
        (self.paths, self.fileCount, self.pastCount) = (paths.sorted(), fileCount, pastCount)
    }
}
