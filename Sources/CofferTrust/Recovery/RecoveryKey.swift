package import CofferCrypto
package import CofferFormat

/// A key that a person prints on paper, and that opens the profile without the passphrase.
///
/// It has 128 random bits, so it needs no slow derivation. Its 16 words are these bits and 48 bits of a
/// checksum, 11 bits a word, the most significant bit first (docs/format.md, "Recovery key").
package final class RecoveryKey: Sendable {
    /// The number of words of every recovery key.
    package static let wordCount = 16
    /// The number of secret bytes in the words.
    package static let secretByteCount = SymmetricKey<RecoveryRole>.secretByteCount
    private static let checksumByteCount = 6

    private let root: SymmetricKey<RecoveryRole>

    /// Makes a new key.
    package convenience init() {
        self.init(SecretBytes.random(count: Self.secretByteCount))
    }

    /// Takes 16 secret bytes, which a command has made.
    package init(_ secret: borrowing SecretBytes) {
        root = SymmetricKey(secret: secret)
    }

    /// Reads typed words.
    ///
    /// - Throws: the mistake, if there is one.
    package convenience init(words typed: [String]) throws(RecoveryKeyError) {
        var words: [RecoveryWord] = []
        for (index, word) in typed.enumerated() {
            words.append(try RecoveryWord(word, number: index + 1))
        }
        guard words.count == Self.wordCount, let secret = Self.secret(in: words) else {
            throw RecoveryMistakes(words).find()
        }
        self.init(secret)
    }

    /// The words, to be printed; a secret.
    package var words: [String] {
        var writer = ByteWriter(capacity: Self.secretByteCount + Self.checksumByteCount)
        secret.withBytes { writer.append($0) }
        writer.append(Self.checksum(root))
        var bits = writer.finish()
        defer { SecretBytes.wipe(&bits) }
        return (0..<Self.wordCount).map { word in
            let bitRange = word * RecoveryWord.bitCount..<(word + 1) * RecoveryWord.bitCount
            let place = bitRange.reduce(0) { $0 << 1 | Int(bits[$1 / 8] >> UInt8(7 - $1 % 8) & 1) }
            return RecoveryWord(place: place).description
        }
    }

    /// The 16 secret bytes, for the process that adds the key to a profile.
    package var secret: SecretBytes { root.secret }

    /// Identifies the key among those of a profile; published.
    package func id(in profile: ProfileID) -> RecoveryKeyID {
        let context = profile.bytes
        let published = unsafe root.derive(RecoveryIDRole.self, context: context.span.bytes).published
        guard let id = RecoveryKeyID(bytes: Array(published[..<RecoveryKeyID.byteCount])) else {
            preconditionFailure("a published key has 32 bytes")
        }
        return id
    }

    /// The key that wraps the key of a profile.
    package func wrapKey(in profile: ProfileID) -> SymmetricKey<RecoveryWrapRole> {
        let context = profile.bytes
        return unsafe root.derive(RecoveryWrapRole.self, context: context.span.bytes)
    }

    // MARK: Bits

    /// Reads the secret bytes of as many words as a key has; nil if the checksum is another one.
    static func secret(in words: [RecoveryWord]) -> SecretBytes? {
        var bits = [UInt8](repeating: 0, count: secretByteCount + checksumByteCount)
        defer { SecretBytes.wipe(&bits) }
        for (index, word) in words.enumerated() {
            for bit in 0..<RecoveryWord.bitCount
            where word.place >> (RecoveryWord.bitCount - 1 - bit) & 1 == 1 {
                let position = index * RecoveryWord.bitCount + bit
                bits[position / 8] |= 0x80 >> UInt8(position % 8)
            }
        }
        let secret = unsafe SecretBytes(copying: bits.span.bytes.extracting(0..<secretByteCount))
        guard checksum(SymmetricKey(secret: secret)) == Array(bits[secretByteCount...]) else { return nil }
        return secret
    }

    private static func checksum(_ root: borrowing SymmetricKey<RecoveryRole>) -> [UInt8] {
        let none = [UInt8]()
        let published = unsafe root.derive(RecoveryChecksumRole.self, context: none.span.bytes).published
        return Array(published[..<checksumByteCount])
    }
}
