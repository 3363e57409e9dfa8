/// The bytes of the archive in an export: the interchange format of pax (POSIX.1-2001), which tar reads.
///
/// Each entry is what `header` returns, its data, and zeros up to the end of a block.
package enum ArchiveWriter {
    /// What ends an archive.
    package static let end = [UInt8](repeating: 0, count: 2 * ArchiveLimits.blockByteCount)

    /// The bytes before the data of an entry.
    ///
    /// - Throws: `.invalid` if the path, or the extended attributes, are too long for an archive.
    package static func header(of entry: ArchiveEntry) throws(FormatError) -> [UInt8] {
        let path = text(of: entry.path, isDirectory: entry.kind == .directory)
        guard path.count <= ArchiveLimits.pathByteCountMax else { throw .invalid(field: "path") }
        var records = PaxRecords()
        records.path = path
        records.modified = entry.modified
        records.attributes = entry.attributes
        var block = ArchiveBlock(
            name: path, permissions: entry.permissions, size: 0,
            modified: entry.modified.quotient(dividingBy: 1_000_000_000), kind: .directory)
        var map: [UInt8] = []
        switch entry.kind {
        case .directory: break
        case .file(let size, let data):
            block.kind = .file
            let stored = data.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) }
            block.size = stored
            if stored != size {
                map = SparseMap.bytes(data, size: size)
                block.size += Int64(map.count)
                records.sparseSize = size
            }
            if block.size > ArchiveBlock.sizeMax { records.size = block.size }
        case .link(let target):
            block.kind = .link
            block.target = text(of: target, isDirectory: false)
            records.target = block.target
        case .symbolicLink(let target):
            block.kind = .symbolicLink
            block.target = target
            records.target = target
        case .fifo: block.kind = .fifo
        case .characterDevice(let device):
            block.kind = .characterDevice
            block.device = device
        case .blockDevice(let device):
            block.kind = .blockDevice
            block.device = device
        }
        let recordBytes = records.bytes
        guard recordBytes.count <= ArchiveLimits.recordsByteCountMax else {
            throw .invalid(field: "extended attributes")
        }
        let before = ArchiveBlock(
            name: Array("PaxHeaders/entry".utf8), permissions: 0o600, size: Int64(recordBytes.count),
            modified: 0, kind: .records)
        let padding = ArchiveLimits.padding(after: Int64(recordBytes.count))
        return before.bytes + recordBytes + [UInt8](repeating: 0, count: padding) + block.bytes + map
    }

    /// A path begins with “./”, and that of a directory ends with a slash.
    static func text(of path: [[UInt8]], isDirectory: Bool) -> [UInt8] {
        let text = [0x2E, 0x2F] + Array(path.joined(separator: [0x2F]))
        return isDirectory && !path.isEmpty ? text + [0x2F] : text
    }
}

extension Int64 {
    /// The largest number whose product is not greater.
    fileprivate func quotient(dividingBy other: Int64) -> Int64 {
        let (quotient, rest) = quotientAndRemainder(dividingBy: other)
        return rest < 0 ? quotient - 1 : quotient
    }
}
