/// The reference implementation, all of it libsodium, against which the fast one is checked.
package final class SodiumBlockCipher: BlockCipher {
    private var key: SymmetricKey<ItemRole>?
    private var prefix = NoncePrefix(low: 0, high: 0)

    /// Makes a cipher without a key; `begin` sets one.
    package init() {}

    package func begin<Role: KeyRole>(_ key: borrowing SymmetricKey<Role>, _ prefix: NoncePrefix) {
        self.key = SymmetricKey(key.bytes.withBytes { SecretBytes(copying: $0) })
        self.prefix = prefix
    }

    package func end() {
        key = nil
    }

    package func seal(
        _ plaintext: RawSpan, number: UInt64, associated: RawSpan, into sealed: inout MutableRawSpan
    ) {
        guard let key = key?.duplicate() else { preconditionFailure("begin() comes first") }
        RecordCipher.seal(
            plaintext, key: key, nonce: Nonce(prefix: prefix, number: number), associated: associated,
            into: &sealed)
    }

    package func open(
        _ sealed: RawSpan, number: UInt64, associated: RawSpan, into plaintext: inout MutableRawSpan
    ) throws(CryptoError) {
        guard let key = key?.duplicate() else { preconditionFailure("begin() comes first") }
        try RecordCipher.open(
            sealed, key: key, nonce: Nonce(prefix: prefix, number: number), associated: associated,
            into: &plaintext)
    }
}
