import CofferFormat
import Testing

/// A format under test: how to read bytes, and how to write the result again.
struct Codec<Value: Equatable> {
    let decode: ([UInt8]) throws -> Value
    let encode: (Value) -> [UInt8]

    /// Checks that a record reads as it was written, and writes as it was read.
    func expectRoundTrip(_ value: Value, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let bytes = encode(value)
        #expect(try decode(bytes) == value, sourceLocation: sourceLocation)
    }

    /// Checks that no prefix of a record is read as a record.
    func expectEveryTruncationFails(_ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) {
        for count in 0..<bytes.count {
            #expect(throws: FormatError.self, "cut to \(count) bytes", sourceLocation: sourceLocation) {
                try decode(Array(bytes[..<count]))
            }
        }
    }

    /// Checks that each change of one byte gives an error or another value, and that every value that is
    /// read is written as the same bytes: there is one encoding of each.
    func expectEveryFlipIsSeen(_ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) throws {
        let value = try decode(bytes)
        for offset in bytes.indices {
            for mask: UInt8 in [0x01, 0x10, 0x80, 0xFF] {
                var changed = bytes
                changed[offset] ^= mask
                guard let other = try? decode(changed) else { continue }
                #expect(other != value, "byte \(offset) ^ \(mask)", sourceLocation: sourceLocation)
                #expect(encode(other) == changed, "byte \(offset) ^ \(mask)", sourceLocation: sourceLocation)
            }
        }
    }

    /// Checks that reading random bytes, or random changes of a record, never traps.
    func readRandomChanges(of bytes: [UInt8], _ random: inout some RandomNumberGenerator) {
        for _ in 0..<2000 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...4, using: &random) where !changed.isEmpty {
                let offset = Int.random(in: changed.indices, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: changed[offset] = .random(in: 0...255, using: &random)
                case 1: changed.insert(.random(in: 0...255, using: &random), at: offset)
                case 2: changed.remove(at: offset)
                default:
                    changed.replaceSubrange(
                        offset..<min(offset + 4, changed.count), with: [255, 255, 255, 255])
                }
            }
            if let value = try? decode(changed) {
                #expect(encode(value) == changed)
            }
        }
    }
}

/// Ascending numbers from 0, as bytes.
func counting(_ count: Int, from first: Int = 0) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: first + $0) }
}

/// Lower-case hexadecimal digits.
func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef")
    return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
}
