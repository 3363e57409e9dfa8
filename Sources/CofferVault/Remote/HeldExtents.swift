internal import CofferCrypto
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Sealed extents that were fetched from a remote lately, in memory: whoever reads in order comes for them in small
/// pieces, and need not wait until they are on this disk.
struct HeldExtents {
    /// Sealed bytes that are held at most: what is fetched ahead of one reader, and what it is reading.
    static let byteCountMax = 20 << 20

    /// What no two extents have in common, also when the number of a row is given anew.
    private struct Key: Hashable {
        let remote: Int64
        let prefix: NoncePrefix
        let total: Int64

        init(_ row: ExtentRow) {
            remote = row.remote
            prefix = row.prefix
            total = row.total
        }
    }

    private var parts: [Key: BufferPart] = [:]
    /// Those that came first come first.
    private var order: [Key] = []
    private var byteCount = 0

    /// The sealed bytes of an extent, from its first on.
    subscript(row: ExtentRow) -> BufferPart? { parts.isEmpty ? nil : parts[Key(row)] }

    /// Holds an extent, and lets go of those that came first.
    mutating func add(_ part: BufferPart, _ row: ExtentRow) {
        guard parts.updateValue(part, forKey: Key(row)) == nil else { return }
        order.append(Key(row))
        byteCount += part.count
        while byteCount > Self.byteCountMax {
            byteCount -= parts.removeValue(forKey: order.removeFirst())?.count ?? 0
        }
    }

    /// Lets go of an extent.
    mutating func remove(_ row: ExtentRow) {
        guard let part = parts.removeValue(forKey: Key(row)) else { return }
        order.removeAll { $0 == Key(row) }
        byteCount -= part.count
    }
}
