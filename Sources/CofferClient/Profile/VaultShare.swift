internal import CofferCrypto
internal import CofferFormat
internal import CofferTrust

/// The record of a vault that has a remote, or had one.
struct VaultShare: Sendable {
    /// The vault.
    let vault: VaultID
    /// The URL of the remote, without credentials; empty if the vault has no remote now.
    var url: String
    /// This device's log in the vault.
    var log: LogID
    /// Invites that this user issued and that are not used yet.
    var invites = OpenInvites()

    /// Whether there is a remote now; if not, the log is kept in case there is one again.
    var hasRemote: Bool { !url.isEmpty }

    init(vault: VaultID, url: String, log: LogID) {
        self.vault = vault
        self.url = url
        self.log = log
    }

    /// An upper bound of its encoded size.
    var byteCountMax: Int { 4096 + invites.byteCountMax }

    func write(into writer: inout ByteWriter) {
        writer.identifier(vault)
        writer.text(url)
        writer.identifier(log)
        var secrets = invites.bytes
        writer.append(secrets)
        SecretBytes.wipe(&secrets)
    }

    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        vault = try cursor.identifier(VaultID.self, from: bytes)
        url = try cursor.text("URL", from: bytes)
        log = try cursor.identifier(LogID.self, from: bytes)
        do throws(TrustError) {
            invites = try OpenInvites(bytes.extracting(cursor.offset..<bytes.byteCount))
        } catch {
            throw .invalid(field: "invites")
        }
    }
}

/// A vault that this user has asked to join, and is not a member of yet.
struct PendingJoin: Sendable {
    /// The invite; a secret.
    let invite: Invite
    /// The name that the vault will have here.
    let name: String
    /// The URL by which this person reaches the remote; others may use another.
    let url: String

    /// - Parameter url: This person's own URL of the remote; nil for the one in the invite.
    init(_ invite: Invite, name: String, url: String? = nil) {
        self.invite = invite
        self.name = name
        self.url = url ?? invite.url
    }

    func write(into writer: inout ByteWriter) {
        writer.text(name)
        writer.text(invite.text)
        if !url.hasSameBytes(as: invite.url) { writer.text(url) }
    }

    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        name = try cursor.text("name", from: bytes)
        let text = try cursor.text("invite", from: bytes)
        let invite: Invite
        do throws(TrustError) { invite = try Invite(text: text) } catch { throw .invalid(field: "invite") }
        self.invite = invite
        url = cursor.offset < bytes.byteCount ? try cursor.text("URL", from: bytes) : invite.url
        try cursor.expectEnd(of: bytes)
    }
}
