internal import CofferCrypto
package import CofferFormat

/// The data that a person needs to ask for membership: one line of text, secret until it is used.
///
///     coffer-invite-1:BASE64URL
///
///     offset  bytes  field
///          0     16  vault id
///         16     32  hash of link 0 of the member chain
///         48     32  the secret
///         80      8  expires, nanoseconds since 1970
///         88      1  role
///         89      …  URL of the remote (text)
///          …      …  the inviter's name for the vault (text); absent if the inviter gives none
///          …      8  checksum: the first 8 bytes of the hash of all bytes before it
package final class Invite: Sendable {
    /// The vault.
    package let vault: VaultID
    /// The hash of link 0 of the member chain, with which the invited person's device detects a different
    /// chain.
    package let root: LinkHash
    /// The role that the invited person gets.
    package let role: Role
    /// When the invite expires, in nanoseconds since 1970.
    package let expires: Int64
    /// The URL of the remote, without a password.
    package let url: String
    /// The inviter's name for the vault; nil if the inviter gives none.
    package let name: String?
    let secret: SymmetricKey<InviteRole>

    private static let start = "coffer-invite-"
    private static let version = "1:"
    private static let checksumByteCount = 8
    private static let urlByteCountMax = 1024
    private static let nameByteCountMax = 255

    /// Makes a new invite with a random secret.
    ///
    /// - Parameter name: The name of the vault, for the invited person only; 1 to 255 bytes.
    /// - Throws: `.unfitURL`; `.notAnInvite` if the name is too long or empty.
    package convenience init(
        to vault: VaultID, root: LinkHash, role: Role, expires: Int64, url: String, name: String? = nil
    ) throws(TrustError) {
        try self.init(
            vault: vault, root: root, secret: .random(), role: role, expires: expires, url: url, name: name)
    }

    init(
        vault: VaultID, root: LinkHash, secret: consuming SymmetricKey<InviteRole>, role: Role,
        expires: Int64, url: String, name: String? = nil
    ) throws(TrustError) {
        guard Self.isFit(url) else { throw .unfitURL }
        if let name, !(1...Self.nameByteCountMax).contains(name.utf8.count) { throw .notAnInvite }
        self.vault = vault
        self.root = root
        self.secret = secret
        self.role = role
        self.expires = expires
        self.url = url
        self.name = name
    }

    /// Identifies the invite publicly, without revealing the secret.
    package var id: InviteID {
        let vault = vault.bytes
        let published = unsafe secret.derive(InviteIDRole.self, context: vault.span.bytes).published
        guard let id = InviteID(bytes: Array(published[..<16])) else {
            preconditionFailure("a published key has 32 bytes")
        }
        return id
    }

    /// The key that seals join requests.
    var requestKey: SymmetricKey<JoinRequestRole> {
        let context = vault.bytes + id.bytes
        return unsafe secret.derive(JoinRequestRole.self, context: context.span.bytes)
    }

    /// Checks that a member chain is the one that the invite is for.
    ///
    /// - Throws: `.otherChain` for a chain with another id, `.shorterChain` if it has no links, `.notLinked`
    ///   for another vault that took this one's id.
    package func checkChain(_ chain: MemberChain) throws(TrustError) {
        guard chain.id == ChainID(vault) else { throw .otherChain }
        try chain.expect(LinkHead(sequence: 0, hash: root))
    }

    /// Checks that the invite has not expired.
    ///
    /// - Throws: `.inviteExpired`.
    package func checkTime(_ time: Int64) throws(TrustError) {
        guard time < expires else { throw .inviteExpired }
    }

    /// The fields without a checksum, as the inviter's profile stores them sealed; a secret.
    var fields: [UInt8] {
        var writer = ByteWriter(capacity: 128 + url.utf8.count + (name?.utf8.count ?? 0))
        writer.identifier(vault)
        writer.bytes32(root)
        secret.bytes.withBytes { writer.append($0) }
        writer.number(expires)
        writer.number(role.rawValue)
        writer.text(url)
        if let name { writer.text(name) }
        return writer.finish()
    }

    /// Reads the fields.
    convenience init(fields: RawSpan) throws(TrustError) {
        var cursor = ByteCursor()
        func read<Value>(_ body: () throws(FormatError) -> Value) throws(TrustError) -> Value {
            do throws(FormatError) { return try body() } catch { throw .notAnInvite }
        }
        let vault = try read { () throws(FormatError) in try cursor.identifier(VaultID.self, from: fields) }
        let root = try read { () throws(FormatError) in try cursor.bytes32(LinkHash.self, from: fields) }
        let secret = try read { () throws(FormatError) in
            try cursor.range(SymmetricKey<InviteRole>.byteCount, of: fields)
        }
        let expires = try read { () throws(FormatError) in try cursor.number(Int64.self, from: fields) }
        let role = try read { () throws(FormatError) in try cursor.number(UInt8.self, from: fields) }
        let url = try read { () throws(FormatError) in try cursor.text("URL", from: fields) }
        var name: String?
        if cursor.offset < fields.byteCount {
            name = try read { () throws(FormatError) in try cursor.text("name", from: fields) }
        }
        try read { () throws(FormatError) in try cursor.expectEnd(of: fields) }
        guard let role = Role(rawValue: role) else { throw .newerInvite }
        try self.init(
            vault: vault, root: root, secret: SymmetricKey(SecretBytes(copying: fields.extracting(secret))),
            role: role, expires: expires, url: url, name: name)
    }

    /// The line that the invited person gets; a secret.
    package var text: String {
        let fields = fields
        return Self.start + Self.version + Base64.text(fields + Self.checksum(fields), .url)
    }

    /// Reads a line; ignores blanks and line ends in and around it.
    ///
    /// - Throws: `.notAnInvite`, `.newerInvite`, `.unfitURL`.
    package convenience init(text: String) throws(TrustError) {
        let characters = text.utf8.filter { ![0x20, 0x0A, 0x0D, 0x09].contains($0) }
        let line = String(decoding: characters, as: UTF8.self)
        guard line.hasPrefix(Self.start) else { throw .notAnInvite }
        let rest = line.dropFirst(Self.start.count)
        guard rest.hasPrefix(Self.version) else {
            let number = rest.prefix { $0 != ":" }
            throw number != rest && Int(number).map { $0 > 1 } == true ? .newerInvite : .notAnInvite
        }
        guard let bytes = Base64.bytes(String(rest.dropFirst(Self.version.count)), .url),
            bytes.count > Self.checksumByteCount
        else { throw .notAnInvite }
        let fields = Array(bytes.dropLast(Self.checksumByteCount))
        guard Array(bytes.suffix(Self.checksumByteCount)) == Self.checksum(fields) else { throw .notAnInvite }
        try unsafe self.init(fields: fields.span.bytes)
    }

    private static func checksum(_ fields: [UInt8]) -> [UInt8] {
        Array(Blake2b.hash(fields, for: .inviteChecksum).prefix(checksumByteCount))
    }

    /// Whether a URL is allowed in an invite: 1 to 1024 bytes of printable ASCII, with a scheme, and without
    /// anything that may be a credential.
    ///
    /// A user name is allowed (SFTP needs one); a password, a query, and a fragment are not.
    package static func isFit(_ url: String) -> Bool {
        let bytes = Array(url.utf8)
        guard (1...urlByteCountMax).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) }),
            !bytes.contains(UInt8(ascii: "?")), !bytes.contains(UInt8(ascii: "#")),
            let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0
        else { return false }
        let rest = bytes[(colon + 1)...]
        guard rest.starts(with: Array("//".utf8)) else { return true }
        let authority = rest.dropFirst(2).prefix { $0 != UInt8(ascii: "/") }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return true }
        return !authority[..<at].contains(UInt8(ascii: ":"))
    }
}
