internal import CCrypto
internal import CSodium
internal import CofferSystem

/// The fast implementation: HChaCha20 from libsodium, then ChaCha20-Poly1305 from OpenSSL's libcrypto with
/// reused contexts.
@safe
package final class LibcryptoBlockCipher: BlockCipher {
    // SAFETY: this object owns the two contexts from init to deinit; by contract, one thread at a time uses
    // it.
    private let sealing: OpaquePointer
    private let opening: OpaquePointer
    private var hasKey = false
    /// The subkey of the current key and prefix; a context gets it when it is first needed.
    private var subkey = [UInt8](repeating: 0, count: 32)
    private var sealingKey = ContextKey.none
    private var openingKey = ContextKey.none
    private var input = [UInt8](repeating: 0, count: NoncePrefix.byteCount)
    private var nonce = [UInt8](repeating: 0, count: 12)

    /// Which key a context has.
    private enum ContextKey {
        case none, former, current
    }

    /// Makes a cipher without a key; `begin` sets one.
    package init() {
        Sodium.ensureInitialised()
        guard let sealing = unsafe EVP_CIPHER_CTX_new(), let opening = unsafe EVP_CIPHER_CTX_new() else {
            preconditionFailure("no memory for a cipher context")
        }
        unsafe self.sealing = unsafe sealing
        unsafe self.opening = unsafe opening
        let cipher = unsafe EVP_chacha20_poly1305()
        let ready =
            unsafe EVP_EncryptInit_ex(sealing, cipher, nil, nil, nil) == 1
            && EVP_DecryptInit_ex(opening, cipher, nil, nil, nil) == 1
        precondition(ready, "libcrypto has no ChaCha20-Poly1305")
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(sealing)
        unsafe EVP_CIPHER_CTX_free(opening)
    }

    package func begin<Role: KeyRole>(_ key: borrowing SymmetricKey<Role>, _ prefix: NoncePrefix) {
        input.withMutableRawSpan { prefix.store(into: &$0, at: 0) }
        key.bytes.withBytes { key in
            unsafe key.withPointer { key, _ in _ = unsafe crypto_core_hchacha20(&subkey, input, key, nil) }
        }
        hasKey = true
        if sealingKey == .current { sealingKey = .former }
        if openingKey == .current { openingKey = .former }
    }

    package func end() {
        // Creating the contexts again would cost more than sealing a small extent. What remains of the last
        // block is its one-time authenticator, which opens nothing.
        SecretBytes.wipe(&subkey)
        if sealingKey != .none { setSealingKey(.none) }
        if openingKey != .none { setOpeningKey(.none) }
        hasKey = false
    }

    /// Gives the subkey to the sealing context; after `end`, that is zeros, which replace a real key.
    private func setSealingKey(_ key: ContextKey) {
        let keyed = unsafe EVP_EncryptInit_ex(sealing, nil, nil, subkey, nil) == 1
        precondition(keyed, "libcrypto refused a key")
        sealingKey = key
    }

    private func setOpeningKey(_ key: ContextKey) {
        let keyed = unsafe EVP_DecryptInit_ex(opening, nil, nil, subkey, nil) == 1
        precondition(keyed, "libcrypto refused a key")
        openingKey = key
    }

    package func seal(
        _ plaintext: RawSpan, number: UInt64, associated: RawSpan, into sealed: inout MutableRawSpan
    ) {
        precondition(hasKey, "begin() comes first")
        precondition(sealed.byteCount == plaintext.byteCount + Seal.tagByteCount)
        precondition(sealed.byteCount <= Int(Int32.max) && associated.byteCount <= Int(Int32.max))
        if sealingKey != .current { setSealingKey(.current) }
        let context = unsafe sealing
        setNonce(number)
        // SAFETY: the spans outlive the calls; `sealed` has room for the tag by the precondition.
        let complete = unsafe sealed.withPointer { output, _ in
            unsafe plaintext.withPointer { input, count in
                unsafe associated.withPointer { associated, associatedCount in
                    var done: Int32 = 0
                    return unsafe EVP_EncryptInit_ex(context, nil, nil, nil, nonce) == 1
                        && EVP_EncryptUpdate(context, nil, &done, associated, Int32(associatedCount)) == 1
                        && (count == 0 || EVP_EncryptUpdate(context, output, &done, input, Int32(count)) == 1)
                        && EVP_EncryptFinal_ex(context, output + count, &done) == 1
                        && EVP_CIPHER_CTX_ctrl(
                            context, EVP_CTRL_AEAD_GET_TAG, Int32(Seal.tagByteCount), output + count) == 1
                }
            }
        }
        precondition(complete, "libcrypto could not seal")
    }

    package func open(
        _ sealed: RawSpan, number: UInt64, associated: RawSpan, into plaintext: inout MutableRawSpan
    ) throws(CryptoError) {
        precondition(hasKey, "begin() comes first")
        precondition(sealed.byteCount == plaintext.byteCount + Seal.tagByteCount)
        precondition(sealed.byteCount <= Int(Int32.max) && associated.byteCount <= Int(Int32.max))
        if openingKey != .current { setOpeningKey(.current) }
        let context = unsafe opening
        setNonce(number)
        // SAFETY: the spans outlive the calls; libcrypto only reads the tag, although it takes it as mutable.
        let authentic = unsafe plaintext.withPointer { output, count in
            unsafe sealed.withPointer { input, _ in
                unsafe associated.withPointer { associated, associatedCount in
                    var done: Int32 = 0
                    var end: UInt8 = 0
                    let authentic =
                        unsafe EVP_DecryptInit_ex(context, nil, nil, nil, nonce) == 1
                        && EVP_CIPHER_CTX_ctrl(
                            context, EVP_CTRL_AEAD_SET_TAG, Int32(Seal.tagByteCount),
                            UnsafeMutableRawPointer(mutating: input + count)) == 1
                        && EVP_DecryptUpdate(context, nil, &done, associated, Int32(associatedCount)) == 1
                        && (count == 0 || EVP_DecryptUpdate(context, output, &done, input, Int32(count)) == 1)
                        && EVP_DecryptFinal_ex(context, &end, &done) == 1
                    if !authentic { unsafe sodium_memzero(output, count) }
                    return authentic
                }
            }
        }
        if !authentic { throw .authenticationFailed }
    }

    /// Sets the 12-byte nonce of RFC 8439 inside XChaCha20: four zero bytes, then the number, little-endian.
    private func setNonce(_ number: UInt64) {
        for index in 0..<8 {
            nonce[4 + index] = UInt8(truncatingIfNeeded: number >> (8 * UInt64(index)))
        }
    }
}
