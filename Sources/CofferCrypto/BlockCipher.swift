/// XChaCha20-Poly1305 over many blocks that share a key and a nonce prefix.
///
/// Block `n` is plain XChaCha20-Poly1305 with nonce prefix ‖ n (docs/format.md, "Sealed block"), so any
/// library opens it; HChaCha20 is done once for all blocks. An instance belongs to one thread at a time.
package protocol BlockCipher: AnyObject {
    /// Sets key and prefix for the blocks that follow.
    func begin<Role: KeyRole>(_ key: borrowing SymmetricKey<Role>, _ prefix: NoncePrefix)

    /// Seals one block.
    ///
    /// - Parameters:
    ///   - sealed: Receives the ciphertext and, behind it, the 16-byte tag.
    func seal(
        _ plaintext: RawSpan, number: UInt64, associated: RawSpan, into sealed: inout MutableRawSpan)

    /// Opens one block into exactly as many bytes as were sealed.
    ///
    /// - Throws: `.authenticationFailed`; the bytes of `plaintext` are then zeros.
    func open(
        _ sealed: RawSpan, number: UInt64, associated: RawSpan, into plaintext: inout MutableRawSpan
    ) throws(CryptoError)

    /// Forgets the key.
    func end()
}

/// Sizes of XChaCha20-Poly1305.
package enum Seal {
    /// Bytes of the authentication tag.
    package static let tagByteCount = 16
}
