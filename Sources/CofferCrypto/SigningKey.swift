internal import CSodium

/// An Ed25519 key pair (RFC 8032).
package struct SigningKey: ~Copyable, Sendable {
    /// The size of the seed from which the pair is derived, in bytes.
    package static let seedByteCount = 32
    /// The sizes of a public key and of a signature, in bytes.
    package static let publicByteCount = 32, signatureByteCount = 64

    /// The seed of the pair, which is stored.
    package let seed: SecretBytes
    /// The public half, with which others verify signatures: 32 bytes.
    package let publicKey: [UInt8]
    private let secretKey: SecretBytes

    /// Makes the pair of a seed of 32 bytes.
    package init(seed: consuming SecretBytes) {
        Sodium.ensureInitialised()
        precondition(seed.count == Self.seedByteCount)
        var publicKey = [UInt8](repeating: 0, count: Self.publicByteCount)
        secretKey = seed.withBytes { seed in
            SecretBytes(count: 64) { (secret: inout MutableRawSpan) throws(Never) in
                unsafe secret.withPointer { secret, _ in
                    unsafe seed.withPointer { seed, _ in
                        _ = unsafe crypto_sign_seed_keypair(&publicKey, secret, seed)
                    }
                }
            }
        }
        self.publicKey = publicKey
        self.seed = seed
    }

    /// Makes a random pair.
    package static func random() -> SigningKey {
        SigningKey(seed: .random(count: seedByteCount))
    }

    /// Signs bytes as they are, without a purpose.
    package func sign(_ message: RawSpan) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: Self.signatureByteCount)
        secretKey.withBytes { secret in
            unsafe secret.withPointer { secret, _ in
                unsafe message.withPointer { message, count in
                    _ = unsafe crypto_sign_detached(&signature, nil, message, UInt64(count), secret)
                }
            }
        }
        return signature
    }

    /// Verifies a signature over bytes as they were stored, without a purpose.
    ///
    /// - Throws: `.badSignature`, also for keys and signatures of a wrong length.
    package static func verify(
        _ signature: [UInt8], of message: RawSpan, by publicKey: [UInt8]
    ) throws(CryptoError) {
        Sodium.ensureInitialised()
        guard signature.count == signatureByteCount, publicKey.count == publicByteCount else {
            throw .badSignature
        }
        let result = unsafe message.withPointer { message, count in
            unsafe crypto_sign_verify_detached(signature, message, UInt64(count), publicKey)
        }
        if result != 0 { throw .badSignature }
    }
}
