internal import CofferTestSupport

/// Bytes that show whether they are whole: number, length (16 bytes), then bytes that both determine.
package enum WholeObject {
    /// An object of at least 16 bytes.
    package static func bytes(_ number: UInt64, byteCount: Int) -> [UInt8] {
        precondition(byteCount >= 16)
        var random = SplitMix64(seed: number ^ UInt64(byteCount) << 32)
        var bytes: [UInt8] = []
        withUnsafeBytes(of: (number.littleEndian, UInt64(byteCount).littleEndian)) { bytes += $0 }
        return bytes + random.bytes(byteCount - 16)
    }

    /// The number of an object; nil if it is not whole.
    package static func number(_ object: [UInt8]) -> UInt64? {
        guard object.count >= 16 else { return nil }
        let number = object[0..<8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        return bytes(number, byteCount: object.count) == object ? number : nil
    }
}
