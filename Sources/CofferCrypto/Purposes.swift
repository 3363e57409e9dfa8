internal import CofferSystem

/// What a signature is for: signed together with the message, so that no signature passes for another.
package enum SignaturePurpose: String, Sendable {
    /// A link of a trust chain, by its signer.
    case link
    /// Keys of a device, by that device.
    case deviceKeys = "device keys"
    /// New keys of an identity, by the new key.
    case identityKeys = "identity keys"
    /// A transient key, by the identity key.
    case transientKey = "transient key"
    /// A set of wraps, by the member that made it.
    case wrapSet = "wrap set"
    /// An identity card, by the identity key.
    case identityCard = "identity card"
    /// A join request, by the identity key.
    case joinRequest = "join request"
    /// A commit, by its author.
    case commit
    /// A checkpoint, by its author.
    case checkpoint
    /// The challenge of a pairing, by the device that asks.
    case pairingRequest = "pairing request"
    /// What a pairing transfers, by the device that gives it.
    case pairingTransfer = "pairing transfer"
}

/// What an unkeyed hash is for: hashed together with the message.
package enum HashPurpose: String, Sendable {
    /// A link of a trust chain.
    case link
    /// A set of wraps.
    case wrapSet = "wrap set"
    /// An identity, for comparison as words.
    case fingerprint
    /// The text of an invite, to detect copying errors.
    case inviteChecksum = "invite checksum"
    /// A profile file, to tell damage from a wrong passphrase.
    case profile
    /// A profile backup, to detect that it was cut or changed before anybody types a key.
    case profileBackup = "profile backup"
    /// The header of an export.
    case exportHeader = "export header"
    /// A sealed page of a content's tree.
    case contentPage = "content page"
    /// The plaintext of such a page; never leaves the device.
    case plainPage = "plain page"
    /// A commit, as stored.
    case commit
    /// The record of a checkpoint, as stored.
    case checkpoint
    /// A piece of a checkpoint, as stored.
    case checkpointPiece = "checkpoint piece"
    /// The facts of a piece of a checkpoint.
    case checkpointFacts = "checkpoint facts"
    /// The number of a side of a pairing, before it is revealed.
    case pairingCommitment = "pairing commitment"
    /// The code that a person compares.
    case pairingCode = "pairing code"
    /// What a pairing transfers.
    case pairingTransfer = "pairing transfer"
}

extension Blake2b {
    /// The BLAKE2b-256 hash of "coffer/1/", the purpose, a zero byte, and `bytes`.
    package static func hash(_ bytes: [UInt8], for purpose: HashPurpose) -> [UInt8] {
        let input = Array("coffer/1/\(purpose.rawValue)\0".utf8) + bytes
        return unsafe hash(input.span.bytes, byteCount: 32)
    }

    /// Like the hash of an array, but without copying the bytes: for bulk data.
    package static func hash(_ bytes: RawSpan, for purpose: HashPurpose) -> [UInt8] {
        let head = Array("coffer/1/\(purpose.rawValue)\0".utf8)
        return unsafe hash(head.span.bytes, bytes)
    }
}

extension SigningKey {
    /// Signs "coffer/1/", the purpose, a zero byte, and `message`.
    package func sign(_ message: [UInt8], for purpose: SignaturePurpose) -> [UInt8] {
        let input = Self.input(message, purpose)
        return unsafe sign(input.span.bytes)
    }

    /// Verifies a signature that `sign(_:for:)` made.
    ///
    /// - Throws: `.badSignature`, also for keys and signatures of a wrong length.
    package static func verify(
        _ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8], for purpose: SignaturePurpose
    ) throws(CryptoError) {
        let input = input(message, purpose)
        try unsafe verify(signature, of: input.span.bytes, by: publicKey)
    }

    private static func input(_ message: [UInt8], _ purpose: SignaturePurpose) -> [UInt8] {
        Array("coffer/1/\(purpose.rawValue)\0".utf8) + message
    }
}
