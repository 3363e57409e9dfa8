package import CofferFormat
internal import CofferStore
package import CofferSystem

// Holes, reservations, and free space.
extension Contents {
    /// The number of ranges that are looked at while the lock is held.
    private static let seekRowCount = 256

    /// The modes of fallocate(2) that a vault supports.
    package enum Allocation: Sendable {
        /// Reserves space for a range; extends the file unless `keepsSize`.
        case reserve(keepsSize: Bool)
        /// FALLOC_FL_PUNCH_HOLE
        case punchHole
        /// FALLOC_FL_ZERO_RANGE
        case zero(keepsSize: Bool)
    }

    /// Allocates or removes a range of a file, as fallocate(2) does.
    ///
    /// A reservation only checks that there is room now: since each write goes to a new place, space cannot
    /// be set aside.
    ///
    /// - Parameter touches: As for `write`.
    package func allocate(
        _ allocation: Allocation, of number: Int64, _ range: Range<Int64>, touches: Bool = true,
        by caller: Caller
    ) throws(FileSystemError) {
        guard range.upperBound <= Vault.fileByteCountMax else { throw .fileTooLarge }
        try vault.ensureChangeable()
        try vault.changing { state throws(FileSystemError) in
            let item = try state.tree.item(number)
            guard item.type == .regular else { throw item.type == .directory ? .isDirectory : .notSupported }
            let keepsSize: Bool
            switch allocation {
            case .reserve(let keeps):
                let space = try self.space()
                guard range.count <= max(0, space.available - FreeSpace.reserveByteCount) else {
                    throw .noSpace
                }
                keepsSize = keeps
            case .punchHole:
                try state.keepIfOutdated(item)
                try state.removeContent(of: item, range)
                state.tree.removes = true
                keepsSize = true
            case .zero(let keeps):
                try state.keepIfOutdated(item)
                try state.removeContent(of: item, range)
                keepsSize = keeps
            }
            vault.readAhead.end(number)
            if !keepsSize, range.upperBound > item.row.size { try state.keepIfOutdated(item) }
            if !keepsSize { item.row.size = max(item.row.size, range.upperBound) }
            item.written = Clock.realTime
            if touches {
                item.row.modified = Clock.fileTime
                item.row.changed = item.row.modified
            }
            try state.tree.dropPrivileges(of: item, by: caller)
            state.tree.touch(item, touches ? [.content, .times] : .content)
        }
    }

    /// The next offset, from `offset` on, at which data or a hole begins.
    ///
    /// Behaves like lseek(2) with SEEK_DATA and SEEK_HOLE.
    ///
    /// - Throws: `.beyondEnd`.
    package func seek(
        _ number: Int64, from offset: Int64, toData: Bool
    ) throws(FileSystemError) -> Int64 {
        var place = offset
        while true {
            let (found, next) = try vault.looking { state throws(FileSystemError) in
                try toData
                    ? self.data(of: number, at: place, &state) : self.hole(of: number, at: place, &state)
            }
            if let found { return found }
            place = next
        }
    }

    private func data(
        of number: Int64, at place: Int64, _ state: inout VaultState
    ) throws(FileSystemError) -> (found: Int64?, next: Int64) {
        let size = try state.tree.peek(number).size
        guard place >= 0, place < size else { throw .beyondEnd }
        if try !state.index.extents(of: number, overlapping: place..<place + 1).isEmpty {
            return (place, place)
        }
        guard let next = try state.index.extents(after: number, place, limit: 1).first,
            next.item == number, next.offset < size
        else { throw .beyondEnd }
        return (next.offset, next.offset)
    }

    /// A hole at or after `place`, or the offset at which to continue: there may be many adjacent ranges, and
    /// other threads need the lock.
    private func hole(
        of number: Int64, at start: Int64, _ state: inout VaultState
    ) throws(FileSystemError) -> (found: Int64?, next: Int64) {
        let size = try state.tree.peek(number).size
        guard start >= 0, start < size else {
            throw .beyondEnd
        }
        var place = start
        let rows =
            try state.index.extents(of: number, overlapping: place..<place + 1)
            + state.index.extents(after: number, place, limit: Self.seekRowCount)
        for row in rows where row.item == number {
            if row.offset > place { break }
            place = max(place, row.end)
        }
        if place >= size { return (size, size) }
        let isAll = rows.last.map { $0.item == number && $0.end == place } ?? false
        return isAll && rows.count >= Self.seekRowCount ? (nil, place) : (place, place)
    }

    /// The disk's space, as for statvfs(3).
    package func space() throws(FileSystemError) -> StorageSpace {
        try FreeSpace.space(of: vault.directory)
    }

    /// Copies between items without passing the bytes through the caller.
    ///
    /// Behaves like copy_file_range(2).
    ///
    /// - Parameter touches: As for `write`.
    /// - Returns: The number of bytes copied; fewer than requested if a full copy would keep others waiting.
    package func copy(
        _ source: Int64, at offset: Int64, to target: Int64, at targetOffset: Int64, count: Int,
        touches: Bool = true, by caller: Caller
    ) throws(FileSystemError) -> Int {
        let buffer = AlignedBuffer(count: ExtentLayout.byteCountMax)
        var done = 0
        while done < min(count, Self.copyByteCountMax) {
            let wanted = min(ExtentLayout.byteCountMax, count - done)
            let from = max(0, offset + Int64(done))
            // A program that copies byte by byte can wait for the remote; here, others would have to wait.
            if try !missingExtents(of: source, from..<from + Int64(wanted)).isEmpty {
                if done > 0 { break }
                throw .notSupported
            }
            let got = try read(source, at: offset + Int64(done), count: wanted, into: buffer)
            if got == 0 { break }
            try buffer.withBytes(0..<got) { bytes throws(FileSystemError) in
                try write(
                    bytes, to: target, at: targetOffset + Int64(done), touches: touches,
                    dropsPrivileges: caller.user != 0)
            }
            done += got
        }
        return done
    }

    private static let copyByteCountMax = 8 << 20
}
