internal import CofferCrypto
internal import CofferFormat
internal import CofferTrust

/// What a profile keeps of a vault that has a remote.
struct VaultShare: Sendable {
    /// The vault.
    let vault: VaultID
    /// Where the remote is; holds no credentials.
    ///
    /// Empty where there is none at present.
    var url: String
    /// This device's log in the vault.
    var log: LogID
    /// Invites that this profile's user gave and nobody has used.
    var invites = OpenInvites()

    /// Whether there is a remote at present; else the log is kept, should there be one again.
    var hasRemote: Bool { !url.isEmpty }

    init(vault: VaultID, url: String, log: LogID) {
        self.vault = vault
        self.url = url
        self.log = log
    }

    /// More bytes than it has when it is written.
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

/// A vault that this profile's user has asked to join, and is not a member of yet.
struct PendingJoin: Sendable {
    /// By which invite; a secret.
    let invite: Invite
    /// What the vault is to be called here.
    let name: String
    /// Where the remote is for this person; others may reach it in another way.
    let url: String

    /// - Parameter url: This person's own way to the remote; nil for the one that the invite names.
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
