internal import CofferSystem

/// Seals and opens the pieces of one export, in their order.
///
/// The key is random and of one export, so the number of a piece is its nonce. The associated data has the header's hash,
/// and the bytes before the piece, which say whether it is the last one: no piece can be left out, added, or moved.
package struct ExportCipher: ~Copyable, Sendable {
    private let key: SymmetricKey<ExportPieceRole>
    private let header: [UInt8]
    private var number: UInt64 = 0

    /// - Parameter header: The header of the export, as stored.
    package init(_ key: borrowing SymmetricKey<ExportRole>, header: [UInt8]) {
        let none = [UInt8]()
        self.key = unsafe key.derive(ExportPieceRole.self, context: none.span.bytes)
        self.header = Blake2b.hash(header, for: .exportHeader)
    }

    private var nonce: Nonce { Nonce(prefix: NoncePrefix(low: 0, high: 0), number: number) }

    /// Seals the next piece.
    ///
    /// - Parameters:
    ///   - start: The bytes that precede the sealed piece.
    ///   - sealed: Receives the ciphertext, and after it the 16-byte tag.
    package mutating func seal(
        _ piece: RawSpan, start: [UInt8], into sealed: inout MutableRawSpan
    ) {
        let associated = header + start
        unsafe RecordCipher.seal(
            piece, key: key, nonce: nonce, associated: associated.span.bytes, into: &sealed)
        number += 1
    }

    /// Opens the next piece.
    ///
    /// - Throws: `.authenticationFailed`; the bytes of `piece` are then zeros.
    package mutating func open(
        _ sealed: RawSpan, start: [UInt8], into piece: inout MutableRawSpan
    ) throws(CryptoError) {
        let associated = header + start
        try unsafe RecordCipher.open(
            sealed, key: key, nonce: nonce, associated: associated.span.bytes, into: &piece)
        number += 1
    }
}
