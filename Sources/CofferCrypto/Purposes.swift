internal import CofferSystem

/// What a signature says: part of what is signed, so that none passes for another.
package enum SignaturePurpose: String, Sendable {
    /// A link of a trust chain, by its signer.
    case link
    /// Keys of a device, by that device.
    case deviceKeys = "device keys"
    /// New keys of an identity, by the new key.
    case identityKeys = "identity keys"
    /// A transient key, by the identity key.
    case transientKey = "transient key"
    /// A set of wraps, by who wrapped.
    case wrapSet = "wrap set"
    /// An identity card, by the identity key.
    case identityCard = "identity card"
    /// A join request, by the identity key.
    case joinRequest = "join request"
}

/// What a plain hash is of: part of what is hashed.
package enum HashPurpose: String, Sendable {
    /// A link of a trust chain.
    case link
    /// A set of wraps.
    case wrapSet = "wrap set"
    /// An identity, to be compared by words.
    case fingerprint
    /// The text of an invite, against mistakes in copying.
    case inviteChecksum = "invite checksum"
}

extension Blake2b {
    /// The BLAKE2b-256 hash of "coffer/1/", the purpose, a zero byte, `bytes`.
    package static func hash(_ bytes: [UInt8], for purpose: HashPurpose) -> [UInt8] {
        let input = Array("coffer/1/\(purpose.rawValue)\0".utf8) + bytes
        return unsafe hash(input.span.bytes, byteCount: 32)
    }
}

extension SigningKey {
    /// Signs "coffer/1/", the purpose, a zero byte, `message`.
    package func sign(_ message: [UInt8], for purpose: SignaturePurpose) -> [UInt8] {
        let input = Self.input(message, purpose)
        return unsafe sign(input.span.bytes)
    }

    /// Checks what `sign(_:for:)` made.
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
