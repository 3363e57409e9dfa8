internal import CofferSystem

/// The first 44 bytes of a request to join, and of its refusal: magic, format version, vault id, invite id.
///
/// They are associated data of the sealed part after them.
struct JoinHeader: Equatable, Sendable {
    let vault: VaultID
    let invite: InviteID

    init(vault: VaultID, invite: InviteID) {
        self.vault = vault
        self.invite = invite
    }

    /// Reads the header of a record with this magic.
    init(
        _ magic: StaticString, version: UInt32, from bytes: RawSpan, _ cursor: inout ByteCursor
    ) throws(FormatError) {
        try cursor.header(magic, version: version, from: bytes)
        vault = try cursor.identifier(VaultID.self, from: bytes)
        invite = try cursor.identifier(InviteID.self, from: bytes)
    }

    /// The 44 bytes.
    func bytes(_ magic: StaticString, version: UInt32) -> [UInt8] {
        var writer = ByteWriter(capacity: 44)
        writer.header(magic, version: version)
        writer.identifier(vault)
        writer.identifier(invite)
        return writer.finish()
    }
}
