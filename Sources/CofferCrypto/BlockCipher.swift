/// XChaCha20-Poly1305 over many blocks that share a key and a nonce prefix.
///
/// Block `n` is ordinary XChaCha20-Poly1305 with the nonce prefix ‖ n (docs/format.md, "Extent"), so any
/// library opens it; HChaCha20 is computed once for all blocks. Only one thread at a time may use an object.
package protocol BlockCipher: AnyObject {
    /// Sets the key and the prefix of the following blocks.
    func begin<Role: KeyRole>(_ key: borrowing SymmetricKey<Role>, _ prefix: NoncePrefix)

    /// Seals one block.
    ///
    /// - Parameters:
    ///   - sealed: Receives the ciphertext, and after it the 16-byte tag.
    func seal(
        _ plaintext: RawSpan, number: UInt64, associated: RawSpan, into sealed: inout MutableRawSpan)

    /// Opens one block; `plaintext` has exactly as many bytes as were sealed.
    ///
    /// - Throws: `.authenticationFailed`; the bytes of `plaintext` are then zeros.
    func open(
        _ sealed: RawSpan, number: UInt64, associated: RawSpan, into plaintext: inout MutableRawSpan
    ) throws(CryptoError)

    /// Wipes the key.
    func end()
}

/// Sizes of XChaCha20-Poly1305.
package enum Seal {
    /// The size of the authentication tag, in bytes.
    package static let tagByteCount = 16
}
