internal import CofferSystem

/// A request to join a vault, which an invited person leaves at the remote.
///
///     offset  bytes  field
///          0      8  "COFFERJR"
///          8      4  format version, 1
///         12     16  vault id
///         28     16  invite id
///         44      …  sealed record, under a key of the invite, with bytes 0 to 43 as associated data:
///                     64  signature of bytes 0 to 43 and the card, by the current identity key
///                      …  identity card
package struct JoinRequestRecord: Equatable, Sendable {
    /// The format version that is written, and the only one that is read.
    package static let version: UInt32 = 1
    /// The largest size of a request, in bytes.
    package static let byteCountMax = IdentityCardRecord.byteCountMax + 148

    /// The vault that the person wants to join.
    package let vault: VaultID
    /// The invite that the person has.
    package let invite: InviteID
    /// Nonce, ciphertext, tag.
    package let sealed: [UInt8]

    package init(vault: VaultID, invite: InviteID, sealed: [UInt8]) {
        self.vault = vault
        self.invite = invite
        self.sealed = sealed
    }

    /// The associated data of the sealed part: 44 bytes.
    package static func associatedData(vault: VaultID, invite: InviteID) -> [UInt8] {
        JoinHeader(vault: vault, invite: invite).bytes("COFFERJR", version: version)
    }

    /// The whole request.
    package var bytes: [UInt8] { Self.associatedData(vault: vault, invite: invite) + sealed }

    /// Reads a request.
    ///
    /// - Throws: any `FormatError`.
    package init(_ bytes: [UInt8]) throws(FormatError) {
        guard bytes.count <= Self.byteCountMax else { throw .invalid(field: "length of the request") }
        let span = unsafe bytes.span.bytes
        var cursor = ByteCursor()
        let header = try JoinHeader("COFFERJR", version: Self.version, from: span, &cursor)
        (vault, invite) = (header.vault, header.invite)
        sealed = try cursor.bytes(bytes.count - cursor.offset, from: span)
    }
}
