/// The beginning of an export: what opens it.
///
///     offset  bytes  field
///          0      8  COFFEREX
///          8      4  format version, 1
///         12      2  number of entries, 1 to 16
///         14      …  each entry: kind (2), length (4), and that many bytes
///
/// Either one entry is a passphrase (kind 1), or all are recipients (kind 2). No entry says who a recipient is.
package struct ExportHeader: Equatable, Sendable {
    /// The version that is written, and the only one that is read.
    package static let version: UInt32 = 1
    /// The largest number of recipients.
    package static let recipientCountMax = 16
    /// The size of the export's key, sealed for an entry, in bytes.
    package static let sealedKeyByteCount = 72
    /// The number of bytes before the entries.
    package static let startByteCount = 14
    /// The number of bytes before what an entry has.
    package static let entryStartByteCount = 6
    private static let magic: StaticString = "COFFEREX"
    private static let passphraseKind: UInt16 = 1, recipientKind: UInt16 = 2
    private static let passphraseByteCount = 96, recipientByteCount = 104

    /// What opens an export.
    package enum Entry: Equatable, Sendable {
        case passphrase(Passphrase)
        case recipient(Recipient)
    }

    /// A passphrase: salt (16), passes and memory of Argon2id (4 each), the sealed key (72).
    package struct Passphrase: Equatable, Sendable {
        /// 16 random bytes.
        package let salt: [UInt8]
        /// Passes over the memory.
        package let passes: UInt32
        /// In KiB.
        package let memory: UInt32
        /// The key of the export, sealed.
        package let sealedKey: [UInt8]

        package init(salt: [UInt8], passes: UInt32, memory: UInt32, sealedKey: [UInt8]) {
            self.salt = salt
            self.passes = passes
            self.memory = memory
            self.sealedKey = sealedKey
        }

        /// The associated data of the sealed key: the first 12 bytes of the export, and the fields before it.
        package static func associatedData(salt: [UInt8], passes: UInt32, memory: UInt32) -> [UInt8] {
            var writer = ByteWriter()
            writer.header(ExportHeader.magic, version: ExportHeader.version)
            writer.append(salt)
            writer.number(passes)
            writer.number(memory)
            return writer.finish()
        }
    }

    /// A recipient: a fresh X25519 public key (32), the sealed key (72).
    package struct Recipient: Equatable, Sendable {
        /// A fresh public key.
        package let ephemeral: AgreementPublicKey
        /// The key of the export, sealed.
        package let sealedKey: [UInt8]

        package init(ephemeral: AgreementPublicKey, sealedKey: [UInt8]) {
            self.ephemeral = ephemeral
            self.sealedKey = sealedKey
        }

        /// The associated data of the sealed key: the first 12 bytes of the export, the fresh key, and that of the
        /// recipient's identity.
        package static func associatedData(
            ephemeral: AgreementPublicKey, recipient: AgreementPublicKey
        ) -> [UInt8] {
            var writer = ByteWriter()
            writer.header(ExportHeader.magic, version: ExportHeader.version)
            writer.bytes32(ephemeral)
            writer.bytes32(recipient)
            return writer.finish()
        }
    }

    /// What opens the export.
    package let entries: [Entry]

    package init(_ entries: [Entry]) {
        self.entries = entries
    }

    /// The passphrase that opens it; nil if recipients do.
    package var passphrase: Passphrase? {
        if case .passphrase(let passphrase)? = entries.first { passphrase } else { nil }
    }

    /// The recipients.
    package var recipients: [Recipient] {
        entries.compactMap { if case .recipient(let recipient) = $0 { recipient } else { nil } }
    }

    /// The header as it is stored.
    package var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.header(Self.magic, version: Self.version)
        writer.number(UInt16(entries.count))
        for entry in entries {
            switch entry {
            case .passphrase(let passphrase):
                writer.number(Self.passphraseKind)
                writer.number(UInt32(Self.passphraseByteCount))
                writer.append(passphrase.salt)
                writer.number(passphrase.passes)
                writer.number(passphrase.memory)
                writer.append(passphrase.sealedKey)
            case .recipient(let recipient):
                writer.number(Self.recipientKind)
                writer.number(UInt32(Self.recipientByteCount))
                writer.bytes32(recipient.ephemeral)
                writer.append(recipient.sealedKey)
            }
        }
        return writer.finish()
    }

    // MARK: Reading

    /// The number of entries that follow the first 14 bytes.
    ///
    /// - Throws: `.notThisKind`, `.newerVersion`, `.truncated`, `.invalid`.
    package static func entryCount(_ start: RawSpan) throws(FormatError) -> Int {
        var cursor = ByteCursor()
        try cursor.header(magic, version: version, from: start)
        let count = Int(try cursor.number(UInt16.self, from: start))
        guard (1...recipientCountMax).contains(count) else { throw .invalid(field: "number of entries") }
        return count
    }

    /// The length of an entry that begins with these 6 bytes.
    package static func entryByteCount(_ start: RawSpan) throws(FormatError) -> Int {
        var cursor = ByteCursor()
        let kind = try cursor.number(UInt16.self, from: start)
        let length = try cursor.number(UInt32.self, from: start)
        let expected =
            switch kind {
            case passphraseKind: passphraseByteCount
            case recipientKind: recipientByteCount
            default: throw .unknown(field: "kind of entry", found: UInt32(kind))
            }
        guard length == UInt32(expected) else { throw .invalid(field: "length of an entry") }
        return expected
    }

    /// Reads a whole header.
    ///
    /// - Throws: any `FormatError`.
    package init(_ bytes: RawSpan) throws(FormatError) {
        let count = try Self.entryCount(bytes)
        var cursor = ByteCursor()
        _ = try cursor.range(Self.startByteCount, of: bytes)
        var entries: [Entry] = []
        for _ in 0..<count {
            let start = bytes.extracting(try cursor.range(Self.entryStartByteCount, of: bytes))
            let length = try Self.entryByteCount(start)
            if length == Self.passphraseByteCount {
                let salt = try cursor.bytes(16, from: bytes)
                let passes = try cursor.number(UInt32.self, from: bytes)
                let memory = try cursor.number(UInt32.self, from: bytes)
                let sealedKey = try cursor.bytes(Self.sealedKeyByteCount, from: bytes)
                entries.append(
                    .passphrase(
                        Passphrase(salt: salt, passes: passes, memory: memory, sealedKey: sealedKey)))
                guard count == 1 else { throw .invalid(field: "number of entries") }
            } else {
                let ephemeral = AgreementPublicKey(try cursor.bytes(32, from: bytes))
                let sealedKey = try cursor.bytes(Self.sealedKeyByteCount, from: bytes)
                entries.append(.recipient(Recipient(ephemeral: ephemeral, sealedKey: sealedKey)))
            }
        }
        try cursor.expectEnd(of: bytes)
        self.entries = entries
    }
}

/// The sealed pieces of an export, after its header.
///
///     bytes  field
///         4  length of the piece before it was sealed; the highest bit marks the last piece
///         …  the sealed piece: 16 bytes more than its length
///
/// All pieces but the last have 256 KiB.
package struct ExportPiece: Equatable, Sendable {
    /// The size of every piece but the last, in bytes.
    package static let byteCount = 256 << 10
    /// The number of bytes before a sealed piece.
    package static let startByteCount = 4
    private static let lastBit: UInt32 = 1 << 31

    /// Its length before it was sealed, in bytes.
    package let count: Int
    /// Whether nothing follows.
    package let isLast: Bool

    package init(count: Int, isLast: Bool) {
        self.count = count
        self.isLast = isLast
    }

    /// The bytes before the sealed piece.
    package var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.number(UInt32(count) | (isLast ? Self.lastBit : 0))
        return writer.finish()
    }

    /// Reads the bytes before a sealed piece.
    package init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        let number = try cursor.number(UInt32.self, from: bytes)
        count = Int(number & ~Self.lastBit)
        isLast = number & Self.lastBit != 0
        guard isLast ? count <= Self.byteCount : count == Self.byteCount else {
            throw .invalid(field: "length of a piece")
        }
    }
}
