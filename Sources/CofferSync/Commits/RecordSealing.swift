package import CofferCrypto
package import CofferFormat
internal import CofferTrust

/// The author of a log: an identity with its signing key.
package final class RecordAuthor: Sendable {
    /// The author's identity.
    package let identity: IdentityID
    let key: SigningKey

    /// - Parameter key: The current one in the identity's chain.
    package init(_ identity: IdentityID, key: consuming SigningKey) {
        self.identity = identity
        self.key = key
    }

    /// The public key that verifies the author's signatures.
    var signing: SigningPublicKey { SigningPublicKey(key.publicKey) }

    func sign(_ bytes: [UInt8], for purpose: SignaturePurpose) -> [UInt8] { key.sign(bytes, for: purpose) }
}

extension SignedRecord.Kind {
    var signaturePurpose: SignaturePurpose { self == .commit ? .commit : .checkpoint }
    var hashPurpose: HashPurpose { self == .commit ? .commit : .checkpoint }
}

extension SignedRecord {
    /// The hash of the record as stored.
    func hash(as kind: Kind) -> [UInt8] { Blake2b.hash(bytes, for: kind.hashPurpose) }

    /// Seals and signs a body.
    ///
    /// - Parameters:
    ///   - padded: The padded body.
    ///   - members: The head of the member chain that the author knows; `key` belongs to the epoch there.
    /// - Returns: The record as stored.
    static func sealing(
        _ padded: [UInt8], as kind: Kind, at dot: Dot, under key: EpochKey, members: LinkHead, writes: Bool,
        by author: RecordAuthor
    ) -> [UInt8] {
        let overhead = RecordCipher.overhead
        let header = header(kind, key.vault, dot, key.epoch, bodyByteCount: padded.count + overhead)
        let signed = header + seal(padded, kind, key, associated: header)
        let unsigned = RecordSeal(author: author.identity, members: members, writes: writes, signature: [])
        let signature = author.sign(signed + unsigned.signedBytes, for: kind.signaturePurpose)
        return signed + seal(unsigned.signedBytes + signature, kind, key, associated: header + [1])
    }

    /// Opens the seal, which names the record's supposed author.
    ///
    /// - Throws: `.authenticationFailed` if no member has sealed it.
    func openSeal(as kind: Kind, under key: EpochKey) throws(CryptoError) -> RecordSeal {
        let opened = try Self.open(seal, kind, key, associated: header + [1])
        do throws(FormatError) { return try RecordSeal(opened) } catch { throw .authenticationFailed }
    }

    /// Checks that the owner of a key has signed the record.
    ///
    /// - Throws: `.badSignature`.
    func check(_ seal: RecordSeal, as kind: Kind, by signer: SigningPublicKey) throws(CryptoError) {
        try SigningKey.verify(
            seal.signature, of: signedBytes + seal.signedBytes, by: signer.bytes, for: kind.signaturePurpose)
    }

    /// Opens the padded body.
    ///
    /// - Throws: `.authenticationFailed`.
    func openBody(as kind: Kind, under key: EpochKey) throws(CryptoError) -> [UInt8] {
        try Self.open(body, kind, key, associated: header)
    }

    private static func seal(
        _ bytes: [UInt8], _ kind: Kind, _ key: EpochKey, associated: [UInt8]
    ) -> [UInt8] {
        switch kind {
        case .commit:
            let key = key.subkey(LogRole.self)
            return unsafe RecordCipher.seal(bytes.span.bytes, key: key, associated: associated.span.bytes)
        case .checkpoint:
            let key = key.subkey(CheckpointRole.self)
            return unsafe RecordCipher.seal(bytes.span.bytes, key: key, associated: associated.span.bytes)
        }
    }

    private static func open(
        _ bytes: [UInt8], _ kind: Kind, _ key: EpochKey, associated: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        switch kind {
        case .commit:
            let key = key.subkey(LogRole.self)
            return try unsafe RecordCipher.open(bytes.span.bytes, key: key, associated: associated.span.bytes)
        case .checkpoint:
            let key = key.subkey(CheckpointRole.self)
            return try unsafe RecordCipher.open(bytes.span.bytes, key: key, associated: associated.span.bytes)
        }
    }
}
