internal import CSodium

/// An X25519 key pair (RFC 7748).
package struct AgreementKey: ~Copyable, Sendable {
    /// The size of a secret key, a public key, and a shared secret, in bytes.
    package static let byteCount = 32

    /// The secret half, which is stored: 32 bytes.
    package let secretKey: SecretBytes
    /// The public half, from which others compute the shared secret: 32 bytes.
    package let publicKey: [UInt8]

    /// Makes the pair of a secret key of 32 bytes.
    package init(secretKey: consuming SecretBytes) {
        Sodium.ensureInitialised()
        precondition(secretKey.count == Self.byteCount)
        var publicKey = [UInt8](repeating: 0, count: Self.byteCount)
        secretKey.withBytes { secret in
            unsafe secret.withPointer { secret, _ in _ = unsafe crypto_scalarmult_base(&publicKey, secret) }
        }
        self.publicKey = publicKey
        self.secretKey = secretKey
    }

    /// Makes a random pair.
    package static func random() -> AgreementKey {
        AgreementKey(secretKey: .random(count: byteCount))
    }

    /// Computes the secret shared with the owner of `peer`.
    ///
    /// - Throws: `.weakPublicKey` if it would be all zeros, or if `peer` is not 32 bytes long.
    package func sharedSecret(with peer: [UInt8]) throws(CryptoError) -> SecretBytes {
        guard peer.count == Self.byteCount else { throw .weakPublicKey }
        var result: Int32 = -1
        let shared = secretKey.withBytes { secret in
            SecretBytes(count: Self.byteCount) { (shared: inout MutableRawSpan) throws(Never) in
                unsafe shared.withPointer { shared, _ in
                    unsafe secret.withPointer { secret, _ in
                        result = unsafe crypto_scalarmult(shared, secret, peer)
                    }
                }
            }
        }
        guard result == 0 else { throw .weakPublicKey }
        return shared
    }
}
