internal import CSodium
internal import CofferSystem

/// The symmetric state of a handshake: the chaining key, the handshake hash, and the present cipher.
///
/// Section 5.2 of the Noise specification, revision 34.
struct NoiseState: ~Copyable {
    /// The name of the protocol: the pattern NX, X25519, ChaCha20-Poly1305, SHA-256.
    private static let name = Array("Noise_NX_25519_ChaChaPoly_SHA256".utf8)

    private var chaining: SecretBytes
    /// The hash of all that both sides have sent so far.
    private(set) var hash: [UInt8]
    private var cipher: NoiseCipher?

    init(prologue: [UInt8]) {
        Sodium.ensureInitialised()
        // The name is as long as a hash, so it is the first hash as it stands.
        precondition(Self.name.count == SHA256.byteCount)
        hash = Self.name
        chaining = unsafe SecretBytes(copying: Self.name.span.bytes)
        cipher = nil
        mixHash(prologue)
    }

    mutating func mixHash(_ bytes: [UInt8]) {
        hash = SHA256.hash(hash + bytes)
    }

    mutating func mixKey(_ secret: borrowing SecretBytes) {
        let keys = NoiseKeys(chaining, secret)
        cipher = NoiseCipher(keys.second.duplicate())
        chaining = keys.first.duplicate()
    }

    /// Seals bytes and mixes them into the hash; before there is a key, they are sent as they are.
    mutating func seal(_ bytes: [UInt8]) -> [UInt8] {
        let sealed = unsafe cipher?.seal(bytes.span.bytes, associated: hash) ?? bytes
        mixHash(sealed)
        return sealed
    }

    /// Opens bytes and mixes them into the hash.
    ///
    /// - Throws: `.authenticationFailed`.
    mutating func open(_ sealed: [UInt8]) throws(CryptoError) -> [UInt8] {
        var opened = sealed
        if cipher != nil {
            opened = try unsafe cipher?.open(sealed.span.bytes, associated: hash).withBytes { $0.array } ?? []
        }
        mixHash(sealed)
        return opened
    }

    /// The keys of the two directions: the initiator's first.
    func split() -> NoiseKeys {
        NoiseKeys(chaining, SecretBytes(count: 0) { (_: inout MutableRawSpan) throws(Never) in })
    }
}

/// Two keys from HKDF with HMAC-SHA-256: section 4.3 of the Noise specification.
struct NoiseKeys: ~Copyable {
    let first: SecretBytes
    let second: SecretBytes

    init(_ chaining: borrowing SecretBytes, _ secret: borrowing SecretBytes) {
        let temporary = secret.withBytes { Self.authenticate($0, nil, key: chaining) }
        let one: [UInt8] = [1]
        let two: [UInt8] = [2]
        first = unsafe Self.authenticate(one.span.bytes, nil, key: temporary)
        let more = unsafe two.span.bytes
        second = first.withBytes { Self.authenticate($0, more, key: temporary) }
    }

    /// HMAC-SHA-256 of one or two pieces.
    private static func authenticate(
        _ piece: RawSpan, _ more: RawSpan?, key: borrowing SecretBytes
    ) -> SecretBytes {
        var state = crypto_auth_hmacsha256_state()
        defer { unsafe sodium_memzero(&state, MemoryLayout<crypto_auth_hmacsha256_state>.size) }
        key.withBytes { key in
            unsafe key.withPointer { key, count in
                _ = unsafe crypto_auth_hmacsha256_init(&state, key, count)
            }
        }
        unsafe piece.withPointer { bytes, count in
            _ = unsafe crypto_auth_hmacsha256_update(&state, bytes, UInt64(count))
        }
        if let more {
            unsafe more.withPointer { bytes, count in
                _ = unsafe crypto_auth_hmacsha256_update(&state, bytes, UInt64(count))
            }
        }
        return SecretBytes(count: SHA256.byteCount) { (output: inout MutableRawSpan) throws(Never) in
            unsafe output.withPointer { output, _ in
                _ = unsafe crypto_auth_hmacsha256_final(&state, output)
            }
        }
    }
}
