// Fields that records of trust have in common.

extension ByteWriter {
    /// A hash or a public key.
    package mutating func bytes32<Kind>(_ value: Bytes32<Kind>) {
        append(value.bytes)
    }
}

extension ByteCursor {
    /// A hash or a public key.
    package mutating func bytes32<Kind>(
        _ type: Bytes32<Kind>.Type, from bytes: RawSpan
    ) throws(FormatError) -> Bytes32<Kind> {
        Bytes32(try self.bytes(Bytes32<Kind>.byteCount, from: bytes))
    }

    /// Text of a name that somebody gave: 1 to `max` bytes, without control characters.
    mutating func name(_ field: String, max: Int, from bytes: RawSpan) throws(FormatError) -> String {
        let name = try text(field, from: bytes)
        guard TrustLimits.isName(name, max: max) else { throw .invalid(field: field) }
        return name
    }
}

/// Bounds of the fields of trust records.
package enum TrustLimits {
    /// The most bytes of a name of a device or a person.
    package static let nameByteCountMax = 255
    /// The most logs that a commit can name, a link can bound, and a vault has.
    package static let logCountMax = 4096
    /// The most logs of one author that are applied on its own word, and that a link bounds.
    package static let authorLogCountMax = 256
    /// The most members that a vault can have at a time.
    package static let memberCountMax = 4096

    /// Whether a name has 1 to `max` bytes, and no control characters.
    ///
    /// Names are shown in terminals, where such characters could pretend to be something else. The list is part
    /// of the format: a category of Unicode would grow with its versions, and verifiers would disagree.
    package static func isName(_ name: String, max: Int = nameByteCountMax) -> Bool {
        (1...max).contains(name.utf8.count)
            && name.unicodeScalars.allSatisfy { scalar in
                !controls.contains { $0.contains(scalar.value) }
            }
    }

    /// Control and formatting characters, but for the joiners that scripts and emoji need.
    private static let controls: [ClosedRange<UInt32>] = [
        0x00...0x1F, 0x7F...0x9F, 0xAD...0xAD, 0x61C...0x61C, 0x180E...0x180E, 0x200B...0x200B,
        0x200E...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF...0xFEFF, 0xFFF9...0xFFFB,
        0xE0000...0xE0FFF,
    ]
}
