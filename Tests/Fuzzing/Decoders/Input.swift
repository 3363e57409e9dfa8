/// An input that is read as instructions: numbers and bytes, and zeros after its end.
struct Input {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    var isEmpty: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func word() -> Int { Int(byte()) | Int(byte()) << 8 }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// Bytes, preceded by their count.
    mutating func counted() -> [UInt8] { bytes(Int(byte())) }

    /// The remaining bytes.
    mutating func remainder() -> [UInt8] { bytes(rest.count) }

    /// A number that is likely to be at an edge: a small one, one near a power of two, or any other.
    mutating func number() -> Int64 {
        let kind = byte()
        switch kind >> 6 {
        case 0: return Int64(kind & 63)
        case 1: return (1 << Int64(kind & 63)) &+ Int64(Int8(bitPattern: byte()))
        case 2: return Int64.max &- (1 << Int64(kind & 63)) &+ Int64(Int8(bitPattern: byte()))
        default: return (0..<8).reduce(0) { number, _ in number << 8 | Int64(byte()) }
        }
    }
}
