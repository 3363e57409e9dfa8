internal import CofferSystem

/// A refusal, which replaces a join request once its invite admits nobody.
///
///     offset  bytes  field
///          0      8  "COFFERJN"
///          8      4  format version, 1
///         12     16  vault id
///         28     16  invite id
///         44     41  sealed record, under a key of the invite, with bytes 0 to 43 as associated data:
///                      1  the reason
package struct JoinRefusalRecord: Equatable, Sendable {
    /// The format version that is written, and the only one that is read.
    package static let version: UInt32 = 1
    /// The size of every record, in bytes: smaller than any request.
    package static let byteCount = 44 + sealedByteCount
    private static let sealedByteCount = 24 + 1 + 16

    /// The vault that the request was for.
    package let vault: VaultID
    /// The invite that admits nobody.
    package let invite: InviteID
    /// Nonce, ciphertext, tag.
    package let sealed: [UInt8]

    /// Makes a record.
    ///
    /// - Parameter sealed: 41 bytes.
    package init(vault: VaultID, invite: InviteID, sealed: [UInt8]) {
        self.vault = vault
        self.invite = invite
        self.sealed = sealed
    }

    /// The associated data of the sealed part: 44 bytes.
    package static func associatedData(vault: VaultID, invite: InviteID) -> [UInt8] {
        JoinHeader(vault: vault, invite: invite).bytes("COFFERJN", version: version)
    }

    /// The whole record.
    package var bytes: [UInt8] { Self.associatedData(vault: vault, invite: invite) + sealed }

    /// Reads a record.
    ///
    /// - Throws: any `FormatError`.
    package init(_ bytes: [UInt8]) throws(FormatError) {
        let span = unsafe bytes.span.bytes
        var cursor = ByteCursor()
        let header = try JoinHeader("COFFERJN", version: Self.version, from: span, &cursor)
        (vault, invite) = (header.vault, header.invite)
        sealed = try cursor.bytes(Self.sealedByteCount, from: span)
        try cursor.expectEnd(of: span)
    }
}
