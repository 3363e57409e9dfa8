internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem

/// Seals and opens the pages and log frames of one index; for one thread at a time.
final class PageSealer {
    private let key: SymmetricKey<IndexPageRole>
    private let vault: VaultID
    private let cipher = LibcryptoBlockCipher()

    init(key: borrowing SymmetricKey<IndexPageRole>, vault: VaultID) {
        self.key = key.duplicate()
        self.vault = vault
    }

    /// Seals all but the last 40 bytes, which receive the nonce and the tag.
    ///
    /// - Parameters:
    ///   - unit: A page, or a log frame with its header.
    ///   - sealed: Receives the same number of bytes.
    func seal(
        _ unit: RawSpan, into sealed: inout MutableRawSpan, in file: IndexPageLayout.File, at offset: Int
    ) {
        let body = unit.byteCount - IndexPageLayout.reservedByteCount
        let nonce = Nonce.random()
        cipher.begin(key, nonce.prefix)
        let associated = IndexPageLayout.associatedData(file, vault: vault, offset: offset)
        nonce.store(into: &sealed, at: body + Seal.tagByteCount)
        var target = sealed._mutatingExtracting(0..<body + Seal.tagByteCount)
        unsafe cipher.seal(
            unit.extracting(0..<body), number: nonce.number, associated: associated.span.bytes, into: &target)
    }

    /// Opens in place; the last 40 bytes become zeros.
    ///
    /// - Throws: `.authenticationFailed`.
    func open(
        _ unit: inout [UInt8], in file: IndexPageLayout.File, at offset: Int
    ) throws(CryptoError) {
        let body = unit.count - IndexPageLayout.reservedByteCount
        let sealed = unit
        let nonce = unsafe Nonce(sealed.span.bytes, at: body + Seal.tagByteCount)
        cipher.begin(key, nonce.prefix)
        let associated = IndexPageLayout.associatedData(file, vault: vault, offset: offset)
        try unit.withMutableRawSpan { (unit: inout MutableRawSpan) throws(CryptoError) in
            unit.zero()
            var plaintext = unit._mutatingExtracting(0..<body)
            try unsafe cipher.open(
                sealed.span.bytes.extracting(0..<body + Seal.tagByteCount), number: nonce.number,
                associated: associated.span.bytes, into: &plaintext)
        }
    }
}
