/// Poly1305 (RFC 8439, 2.5), on numbers of five limbs of 26 bits.
enum ReferencePoly1305 {
    static func tag(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        var clamped = Array(key[..<16])
        for index in [3, 7, 11, 15] { clamped[index] &= 15 }
        for index in [4, 8, 12] { clamped[index] &= 252 }
        let factor = limbs(clamped)
        var sum = [UInt64](repeating: 0, count: 5)
        for start in stride(from: 0, to: message.count, by: 16) {
            let block = limbs(message[start..<min(start + 16, message.count)] + [1])
            sum = product(zip(sum, block).map { $0 + $1 }, factor)
        }
        return serialised(reduced(sum), plus: Array(key[16...]))
    }

    private static func limbs(_ bytes: [UInt8]) -> [UInt64] {
        var result = [UInt64](repeating: 0, count: 5)
        for bit in 0..<(8 * bytes.count) where bytes[bit / 8] >> (bit % 8) & 1 == 1 {
            result[bit / 26] |= 1 << UInt64(bit % 26)
        }
        return result
    }

    /// Multiplies modulo 2^130 - 5; the limbs may come out one bit too long.
    private static func product(_ left: [UInt64], _ right: [UInt64]) -> [UInt64] {
        var result = [UInt64](repeating: 0, count: 5)
        for (i, x) in left.enumerated() {
            for (j, y) in right.enumerated() { result[(i + j) % 5] += x * y * (i + j < 5 ? 1 : 5) }
        }
        return carried(carried(result))
    }

    private static func carried(_ limbs: [UInt64]) -> [UInt64] {
        var (result, carry) = (limbs, UInt64(0))
        for index in 0..<5 {
            result[index] += carry
            carry = result[index] >> 26
            result[index] &= 0x3FF_FFFF
        }
        result[0] += 5 * carry
        return result
    }

    /// The number below 2^130 - 5 itself.
    private static func reduced(_ sum: [UInt64]) -> [UInt64] {
        let sum = carried(carried(sum))
        var (less, carry) = (sum, UInt64(5))
        for index in 0..<5 {
            less[index] += carry
            carry = less[index] >> 26
            less[index] &= 0x3FF_FFFF
        }
        return carry == 1 ? less : sum
    }

    private static func serialised(_ sum: [UInt64], plus pad: [UInt8]) -> [UInt8] {
        var carry: UInt64 = 0
        return (0..<16).map { index in
            let byte = (8 * index..<8 * index + 8).reduce(UInt64(0)) {
                $0 | (sum[$1 / 26] >> UInt64($1 % 26) & 1) << UInt64($1 - 8 * index)
            }
            carry += byte + UInt64(pad[index])
            defer { carry >>= 8 }
            return UInt8(truncatingIfNeeded: carry)
        }
    }
}
