// Fields that several records of trust contain.

extension ByteWriter {
    /// Writes a hash or a public key.
    package mutating func bytes32<Kind>(_ value: Bytes32<Kind>) {
        append(value.bytes)
    }
}

extension ByteCursor {
    /// Reads a hash or a public key.
    package mutating func bytes32<Kind>(
        _ type: Bytes32<Kind>.Type, from bytes: RawSpan
    ) throws(FormatError) -> Bytes32<Kind> {
        Bytes32(try self.bytes(Bytes32<Kind>.byteCount, from: bytes))
    }

    /// Reads the hash of what is shown.
    mutating func stateHash(from bytes: RawSpan) throws(FormatError) -> StateHash {
        guard let hash = StateHash(bytes: try self.bytes(StateHash.byteCount, from: bytes)) else {
            throw .truncated
        }
        return hash
    }

    /// Reads a name that a person chose: 1 to `max` bytes, without control characters.
    package mutating func name(_ field: String, max: Int, from bytes: RawSpan) throws(FormatError) -> String {
        let name = try text(field, from: bytes)
        guard TrustLimits.isName(name, max: max) else { throw .invalid(field: field) }
        return name
    }
}

/// The limits of fields in records of trust.
package enum TrustLimits {
    /// The largest size of the name of a device or a person, in bytes.
    package static let nameByteCountMax = 255
    /// The largest number of logs that a commit names, that a link bounds, and that a vault has.
    package static let logCountMax = 4096
    /// The largest number of one author's logs that are applied on its own word, and that a link bounds.
    package static let authorLogCountMax = 256
    /// The largest number of members that a vault has at a time.
    package static let memberCountMax = 4096

    /// Whether a name has 1 to `max` bytes and no control characters.
    ///
    /// Terminals show names, and such characters could make a name look like another. The list is part of the
    /// format: a Unicode category would grow with each version of Unicode, and verifiers would disagree.
    package static func isName(_ name: String, max: Int = nameByteCountMax) -> Bool {
        (1...max).contains(name.utf8.count)
            && name.unicodeScalars.allSatisfy { scalar in
                !controls.contains { $0.contains(scalar.value) }
            }
    }

    /// Control and formatting characters, except the joiners that scripts and emoji need.
    private static let controls: [ClosedRange<UInt32>] = [
        0x00...0x1F, 0x7F...0x9F, 0xAD...0xAD, 0x61C...0x61C, 0x180E...0x180E, 0x200B...0x200B,
        0x200E...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF...0xFEFF, 0xFFF9...0xFFFB,
        0xE0000...0xE0FFF,
    ]
}
