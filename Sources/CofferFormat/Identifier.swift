/// A random 128-bit identifier of one kind of thing; stored as 16 bytes.
package struct Identifier<Kind>: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The size of every identifier, in bytes.
    @inlinable package static var byteCount: Int { 16 }

    /// Bytes 0 to 7 and 8 to 15, each as a little-endian number.
    package let low: UInt64, high: UInt64

    @inlinable
    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    /// Reads 16 bytes; nil if there are not 16.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        low = Self.number(bytes[0..<8])
        high = Self.number(bytes[8..<16])
    }

    /// Reads 32 lower-case hexadecimal digits; nil for any other text.
    package init?(hexadecimal: String) {
        let digits = hexadecimal.utf8.map { UInt8(truncatingIfNeeded: hexValue($0) ?? 255) }
        guard digits.count == 32, !digits.contains(255) else { return nil }
        self.init(bytes: (0..<16).map { digits[2 * $0] << 4 | digits[2 * $0 + 1] })
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The 16 bytes.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount)
        writer.identifier(self)
        return writer.finish()
    }

    /// 32 lower-case hexadecimal digits, in the order of the bytes.
    package var description: String {
        let digits = Array("0123456789abcdef".utf8)
        let text = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }

    @inlinable
    package static func == (left: Self, right: Self) -> Bool {
        left.low == right.low && left.high == right.high
    }

    @inlinable
    package static func < (left: Self, right: Self) -> Bool {
        left.high == right.high ? left.low < right.low : left.high < right.high
    }
}

private func hexValue(_ digit: UInt8) -> Int? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(digit) - 48
    case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(digit) - 87
    default: nil
    }
}

/// Distinguishes identifiers of profiles from others.
package enum ProfileKind {}
/// Distinguishes identifiers of vaults from others.
package enum VaultKind {}
/// Distinguishes identifiers of items from others.
package enum ItemKind {}
/// Distinguishes identifiers of packs from others.
package enum PackKind {}
/// Distinguishes identifiers of devices from others.
package enum DeviceKind {}
/// Distinguishes identifiers of directory entries from others.
package enum EntryKind {}

/// Identifies a profile.
package typealias ProfileID = Identifier<ProfileKind>
/// Identifies a vault, for all its members.
package typealias VaultID = Identifier<VaultKind>
/// Identifies an item, whatever its name and place.
package typealias ItemID = Identifier<ItemKind>
/// Identifies a pack.
package typealias PackID = Identifier<PackKind>
/// Identifies a device.
package typealias DeviceID = Identifier<DeviceKind>
/// Identifies a directory entry, wherever it is moved.
package typealias EntryID = Identifier<EntryKind>

extension PackID {
    /// The pack of extents of which nothing is known.
    package static var nowhere: PackID { PackID(low: 0, high: 0) }
}
