internal import CSodium
internal import CofferSystem

/// XChaCha20-Poly1305 from libsodium, for records of up to a few kilobytes.
///
/// A sealed record is the random 24-byte nonce, the ciphertext, and the 16-byte tag.
package enum RecordCipher {
    /// How many bytes a sealed record is longer than its plaintext.
    package static let overhead = Nonce.byteCount + Seal.tagByteCount

    /// Seals a record under a new random nonce.
    package static func seal<Role: KeyRole>(
        _ plaintext: RawSpan, key: borrowing SymmetricKey<Role>, associated: RawSpan
    ) -> [UInt8] {
        seal(plaintext, key: key, nonce: .random(), associated: associated)
    }

    /// Seals a record under a given nonce, which must never have been used with the key.
    package static func seal<Role: KeyRole>(
        _ plaintext: RawSpan, key: borrowing SymmetricKey<Role>, nonce: Nonce, associated: RawSpan
    ) -> [UInt8] {
        var sealed = [UInt8](repeating: 0, count: plaintext.byteCount + overhead)
        sealed.withMutableRawSpan { bytes in
            nonce.store(into: &bytes, at: 0)
            var body = bytes._mutatingExtracting(Nonce.byteCount..<bytes.byteCount)
            seal(plaintext, key: key, nonce: nonce, associated: associated, into: &body)
        }
        return sealed
    }

    /// Seals under a given nonce into `sealed`: ciphertext, then tag.
    package static func seal<Role: KeyRole>(
        _ plaintext: RawSpan, key: borrowing SymmetricKey<Role>, nonce: Nonce, associated: RawSpan,
        into sealed: inout MutableRawSpan
    ) {
        Sodium.ensureInitialised()
        precondition(sealed.byteCount == plaintext.byteCount + Seal.tagByteCount)
        // SAFETY: all buffers outlive the call, and `sealed` has room for everything that the function
        // writes.
        unsafe withPointers(associated, key, nonce) { associated, associatedCount, key, nonce in
            unsafe plaintext.withPointer { input, count in
                unsafe sealed.withPointer { output, _ in
                    _ = unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
                        output, nil, input, UInt64(count), associated, UInt64(associatedCount), nil, nonce,
                        key)
                }
            }
        }
    }

    /// Opens a record.
    ///
    /// - Throws: `.authenticationFailed`, also if it is too short to be a record.
    package static func open<Role: KeyRole>(
        _ sealed: RawSpan, key: borrowing SymmetricKey<Role>, associated: RawSpan
    ) throws(CryptoError) -> [UInt8] {
        guard sealed.byteCount >= overhead else { throw .authenticationFailed }
        var plaintext = [UInt8](repeating: 0, count: sealed.byteCount - overhead)
        try plaintext.withMutableRawSpan { (bytes: inout MutableRawSpan) throws(CryptoError) in
            try open(
                sealed.extracting(Nonce.byteCount..<sealed.byteCount), key: key,
                nonce: Nonce(sealed, at: 0), associated: associated, into: &bytes)
        }
        return plaintext
    }

    /// Opens a record that contains a key.
    package static func openSecret<Role: KeyRole>(
        _ sealed: RawSpan, key: borrowing SymmetricKey<Role>, associated: RawSpan
    ) throws(CryptoError) -> SecretBytes {
        guard sealed.byteCount >= overhead else { throw .authenticationFailed }
        let body = sealed.extracting(Nonce.byteCount..<sealed.byteCount)
        let nonce = Nonce(sealed, at: 0)
        let count = sealed.byteCount - overhead
        var failure: CryptoError?
        let secret = SecretBytes(count: count) { (bytes: inout MutableRawSpan) throws(Never) in
            do throws(CryptoError) {
                try open(body, key: key, nonce: nonce, associated: associated, into: &bytes)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return secret
    }

    /// Opens ciphertext and tag under a given nonce.
    ///
    /// - Throws: `.authenticationFailed`; the bytes of `plaintext` are then zeros.
    package static func open<Role: KeyRole>(
        _ sealed: RawSpan, key: borrowing SymmetricKey<Role>, nonce: Nonce, associated: RawSpan,
        into plaintext: inout MutableRawSpan
    ) throws(CryptoError) {
        Sodium.ensureInitialised()
        precondition(sealed.byteCount == plaintext.byteCount + Seal.tagByteCount)
        // SAFETY: all buffers outlive the call, and `plaintext` has room for everything that the function
        // writes.
        let result = unsafe withPointers(associated, key, nonce) { associated, associatedCount, key, nonce in
            unsafe plaintext.withPointer { output, outputCount in
                unsafe sealed.withPointer { input, count in
                    let result = unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
                        output, nil, nil, input, UInt64(count), associated, UInt64(associatedCount), nonce,
                        key)
                    if result != 0 { unsafe sodium_memzero(output, outputCount) }
                    return result
                }
            }
        }
        if result != 0 { throw .authenticationFailed }
    }

    private static func withPointers<Role: KeyRole, Result>(
        _ associated: RawSpan, _ key: borrowing SymmetricKey<Role>, _ nonce: Nonce,
        _ body: (UnsafePointer<UInt8>, Int, UnsafePointer<UInt8>, UnsafePointer<UInt8>) -> Result
    ) -> Result {
        var bytes = [UInt8](repeating: 0, count: Nonce.byteCount)
        bytes.withMutableRawSpan { nonce.store(into: &$0, at: 0) }
        return unsafe associated.withPointer { associated, count in
            unsafe bytes.span.bytes.withPointer { nonce, _ in
                key.bytes.withBytes { key in
                    unsafe key.withPointer { key, _ in unsafe body(associated, count, key, nonce) }
                }
            }
        }
    }
}
