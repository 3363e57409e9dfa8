package import CofferFormat
internal import CofferStore
package import CofferSystem

// Reading content.
extension Contents {
    /// The plaintext size from which an extent is read past the page cache: extents of small files lie in the
    /// order in which they are likely to be read.
    private static let scatteredExtentMin: Int64 = 64 << 10
    /// How often a read retries when extents have been moved or replaced in the meantime.
    private static let attemptCount = 5
    /// The number of bytes that are looked up for a stream at a time.
    private static let planByteCount: Int64 = 4 << 20

    /// Reads into `buffer`, or from a stream if the item is read sequentially.
    ///
    /// Behaves like pread(2).
    ///
    /// - Parameters:
    ///   - flights: Where a scattered read may wait for the disk while the caller does something else; the
    ///     caller keeps `buffer` free for `flights.endNext`.
    ///   - request: Creates the request, which is then answered, if the answer comes from another place or
    ///     later.
    /// - Returns: The number of bytes read; nil if the request was or will be answered.
    /// - Throws: The errors of `read(_:at:count:into:)`.
    package func read(
        _ number: Int64, at offset: Int64, count: Int, into buffer: AlignedBuffer,
        in flights: ReadsInFlight? = nil, or request: () -> any ReadRequest
    ) throws(FileSystemError) -> Int? {
        guard offset >= 0, count > 0 else { return 0 }
        let range = offset..<offset + Int64(count)
        let pattern = vault.readAhead.note(number, range)
        vault.remoteReads.note(number, range, isMissing: false, in: vault)
        if pattern == .sequential, plan(range, of: number),
            vault.readAhead.answer(number, range, in: vault, request)
        {
            return nil
        }
        return try read(
            number, at: offset, count: count, into: buffer, isScattered: pattern == .scattered,
            in: flights, later: request)
    }

    /// Reads into `buffer`.
    ///
    /// Behaves like pread(2). Waits for the remote if bytes are only there.
    ///
    /// - Parameters:
    ///   - place: The position in the buffer for the first byte.
    ///   - isScattered: Whether this is a small read away from others.
    ///   - demand: What to fetch of extents that are only on the remote.
    /// - Returns: The number of bytes read; fewer than requested only at the end of the file.
    /// - Throws: `.damaged` if a byte is not the one that was written, `.unreachable` or `.timedOut` if one
    ///   is not on this device and cannot be fetched, `.keyMissing`; the problem log then names the file.
    package func read(
        _ number: Int64, at offset: Int64, count: Int, into buffer: AlignedBuffer, place: Int = 0,
        isScattered: Bool = false, demand: FetchDemand = .bytes
    ) throws(FileSystemError) -> Int {
        try read(
            number, at: offset, count: count, into: buffer, place: place, isScattered: isScattered,
            demand: demand, later: { nil }
        ) ?? 0
    }

    /// Reads into `buffer`, or hands a request that must wait for the remote to threads that may wait.
    ///
    /// - Parameters:
    ///   - flights: Where a scattered read may wait for the disk, if the caller need not wait for it.
    ///   - request: Creates the request if it must wait; returns nil if the caller may wait.
    func read(
        _ number: Int64, at offset: Int64, count: Int, into buffer: AlignedBuffer, place: Int = 0,
        isScattered: Bool, demand: FetchDemand = .bytes, in flights: ReadsInFlight? = nil,
        later request: () -> (any ReadRequest)?
    ) throws(FileSystemError) -> Int? {
        guard offset >= 0, count > 0 else { return 0 }
        let wanted = offset..<offset + Int64(count)
        for _ in 0..<Self.attemptCount {
            let (id, size, extents): (ItemID, Int64, [SealedExtent])
            do throws(FileSystemError) {
                (id, size, extents) = try lookUp(wanted, of: number, isScattered)
            } catch {
                if case .pageAbsent = error, let request = request() {
                    vault.waitingReads.answer(number, wanted, request, in: vault)
                    return nil
                }
                report(error, number, wanted)
                throw error
            }
            guard offset < size else { return 0 }
            if extents.contains(where: { $0.remotePlace != nil }), let request = request() {
                let isSeek = vault.remoteReads.note(number, wanted, isMissing: true, in: vault)
                vault.remoteReads.answer(number, wanted, isSeek: isSeek, request, in: vault)
                return nil
            }
            let range = wanted.clamped(to: 0..<size)
            if let flights,
                isScattered
                    && start(range, of: number, id, from: extents, in: flights, into: buffer, for: request)
                    || leave(range, of: number, from: extents, for: request)
            {
                return nil
            }
            do throws(FileSystemError) {
                let began = flights == nil ? 0 : Clock.monotonic
                try fill(buffer, at: place, with: range, of: id, from: extents, demand: demand)
                if began != 0 { vault.pace.note(since: began) }
                return range.count
            } catch {
                // A range that was replaced in the meantime may have lost its bytes to compaction: look
                // again.
                switch error {
                case .damaged: break
                case .stale: continue
                default:
                    let error = told(error, number)
                    report(error, number, range, isAtRemote: true)
                    throw error
                }
                let again: [SealedExtent]
                do throws(FileSystemError) {
                    again = try lookUp(wanted, of: number, isScattered).extents
                } catch {
                    if case .pageAbsent = error, let request = request() {
                        vault.waitingReads.answer(number, wanted, request, in: vault)
                        return nil
                    }
                    throw error
                }
                if again.map(\.row) != extents.map(\.row) { continue }
                report(error, number, range, isAtRemote: again.contains { $0.remotePlace != nil })
                throw error
            }
        }
        throw .stale
    }

    /// The error for a reader of a content of which nothing is known; it depends on whether more may arrive.
    private func told(_ error: FileSystemError, _ number: Int64) -> FileSystemError {
        guard case .notArrived(.nowhere) = error else { return error }
        switch owedContent(of: number) {
        case .mayArrive: return error
        case .isNewer: return .unreachable(reason: "it was written by a newer Coffer")
        case .isDamaged, nil: return .damaged(place: "the description of the content on the remote")
        }
    }

    /// Adds an error of a read to the problem log.
    ///
    /// - Parameter isAtRemote: Whether the damage is in data from the remote, where it may go away.
    func report(_ error: FileSystemError, _ number: Int64, _ range: Range<Int64>, isAtRemote: Bool = false) {
        let text =
            "\(vault.path(of: number)): bytes \(range.lowerBound) to \(range.upperBound - 1) cannot be read: "
            + error.summary
        switch error {
        case .damaged where isAtRemote:
            var packs = SeenPacks(vault: vault)
            vault.problems.add(text, about: .content(vault.id, number))
            let sizes = packs.sizes(of: number, [range]) ?? [:]
            vault.remoteReads.arrivals.note(number, range, damagedAt: sizes, in: vault)
        case .damaged, .keyMissing: vault.problems.add(text)
        case .unreachable, .timedOut, .notArrived:
            vault.problems.add(text, about: .content(vault.id, number))
            vault.remoteReads.arrivals.note(number, range, in: vault)
        default: return
        }
    }

    // MARK: Looking up

    /// Looks up the current extents of a range.
    private func lookUp(
        _ range: Range<Int64>, of number: Int64, _ isScattered: Bool
    ) throws(FileSystemError) -> (id: ItemID, size: Int64, extents: [SealedExtent]) {
        try vault.looking { state throws(FileSystemError) in
            let row = try state.tree.peek(number)
            guard FileType(mode: row.mode) == .regular else {
                throw FileType(mode: row.mode) == .directory ? .isDirectory : .invalidArgument
            }
            guard range.lowerBound < row.size else { return (row.origin, row.size, []) }
            let extents = try self.extents(
                of: number, overlapping: range.clamped(to: 0..<row.size), isScattered, &state)
            return (row.origin, row.size, extents)
        }
    }

    private func extents(
        of number: Int64, overlapping range: Range<Int64>, _ isScattered: Bool, _ state: inout VaultState
    ) throws(FileSystemError) -> [SealedExtent] {
        var extents: [SealedExtent] = []
        for row in try state.index.extents(of: number, overlapping: range) {
            extents.append(try self.extent(row, isScattered, &state))
        }
        return extents
    }

    func extent(
        _ row: ExtentRow, _ isScattered: Bool, _ state: inout VaultState
    ) throws(FileSystemError) -> SealedExtent {
        if case .pack(let pack, _) = row.place { state.packs.noteUse(of: pack) }
        if row.remote != 0, let sealed = vault.remoteReads.held(row) {
            return SealedExtent(row: row, source: .held(sealed))
        }
        switch row.place {
        case .remote:
            return SealedExtent(row: row, source: .remote(try state.index.remoteExtent(row.remote).place))
        case .row(let number):
            guard let sealed = try state.index.content(number) else {
                throw .damaged(place: "row \(number) of the index's contents")
            }
            return SealedExtent(row: row, source: .bytes(sealed))
        case .pack(let pack, let position):
            let count = ExtentLayout.sealedByteCount(Int(row.total))
            if let sealed = state.packs.unwrittenBytes(pack, at: Int(position), count: count) {
                return SealedExtent(row: row, source: .bytes(sealed))
            }
            let isScattered = isScattered && row.total >= Self.scatteredExtentMin
            return SealedExtent(
                row: row, source: .file(try state.packs.openFile(pack), isScattered: isScattered))
        }
    }

    // MARK: Streams

    /// Looks up the extents that a stream needs next, and begins a stream if there is none.
    ///
    /// - Returns: False if the rest of the item is not worth a stream, or cannot be looked up: damage far
    ///   ahead must not affect reads before it, nor must a slow disk.
    private func plan(_ range: Range<Int64>, of number: Int64) -> Bool {
        let found = vault.readAhead.stream(of: number, range)
        if let found, found.unplanned == nil { return true }
        return vault.state.withLock { state in
            let index = state.index
            index.failsForAbsentPages = vault.pace.isSlow
            defer { index.failsForAbsentPages = false }
            do throws(FileSystemError) {
                if let (stream, unplanned) = found {
                    if let unplanned { try self.plan(unplanned, of: stream, &state) }
                    return true
                }
                let row = try state.tree.peek(number)
                guard FileType(mode: row.mode) == .regular,
                    row.size - range.upperBound >= ReadStream.pieceByteCount
                else { return false }
                let next = range.upperBound..<range.upperBound + Int64(ReadStream.pieceByteCount)
                if try self.extents(of: number, overlapping: next, false, &state).contains(where: {
                    $0.remotePlace != nil || $0.isHeld
                }) {
                    return false
                }
                let stream = ReadStream(item: number, id: row.origin, size: row.size, at: range.lowerBound)
                guard let unplanned = vault.readAhead.begin(stream, for: range) else { return false }
                try self.plan(unplanned, of: stream, &state)
                return true
            } catch {
                state.noticeRollback()
                if case .pageAbsent(let page) = error {
                    vault.waitingReads.bring(page, in: vault)
                    return found != nil
                }
                vault.readAhead.end(number)
                return false
            }
        }
    }

    private func plan(
        _ unplanned: Range<Int64>, of stream: ReadStream, _ state: inout VaultState
    ) throws(FileSystemError) {
        let range = unplanned.clamped(to: unplanned.lowerBound..<unplanned.lowerBound + Self.planByteCount)
        let extents = try extents(of: stream.item, overlapping: range, false, &state)
        // A stream does not wait for extents that must be fetched from a remote.
        if extents.contains(where: { $0.remotePlace != nil }) { throw .stale }
        let end = max(range.upperBound, min(extents.last?.row.end ?? 0, stream.size))
        vault.readAhead.add(
            ReadStream.plan(extents, from: range.lowerBound), for: range.lowerBound..<end, to: stream)
    }
}
