internal import CofferCrypto
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Names an extent of which bytes are in memory.
///
/// Differs between any two extents: while an index is open, it gives no number twice.
struct HeldExtent: Hashable {
    private let remote: Int64
    private let prefix: NoncePrefix
    private let total: Int64

    init(_ row: ExtentRow) {
        remote = row.remote
        prefix = row.prefix
        total = row.total
    }
}

/// Recently fetched sealed extents, in memory.
///
/// A sequential reader requests them in small pieces, and need not wait until they are on this disk.
struct HeldExtents {
    /// The maximum number of sealed bytes: the part fetched ahead of one reader, and the part that it is
    /// reading.
    static let byteCountMax = 20 << 20

    private typealias Key = HeldExtent

    private var parts: [Key: BufferPart] = [:]
    /// The extents, oldest first.
    private var order: [Key] = []
    private var byteCount = 0

    /// The sealed bytes of an extent, from the first one.
    subscript(row: ExtentRow) -> BufferPart? { parts.isEmpty ? nil : parts[Key(row)] }

    /// Adds an extent, and drops the oldest ones.
    mutating func add(_ part: BufferPart, _ row: ExtentRow) {
        guard parts.updateValue(part, forKey: Key(row)) == nil else { return }
        order.append(Key(row))
        byteCount += part.count
        while byteCount > Self.byteCountMax {
            byteCount -= parts.removeValue(forKey: order.removeFirst())?.count ?? 0
        }
    }

    /// Drops an extent.
    mutating func remove(_ row: ExtentRow) {
        guard let part = parts.removeValue(forKey: Key(row)) else { return }
        order.removeAll { $0 == Key(row) }
        byteCount -= part.count
    }
}
