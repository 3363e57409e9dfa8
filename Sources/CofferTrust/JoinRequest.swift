package import CofferCrypto
package import CofferFormat

extension Invite {
    /// Makes what the invited leave at the remote: their card, for those only who have the invite.
    ///
    /// - Throws: `.wrongSignature` unless the signer is the card's identity.
    package func request(
        by card: IdentityCard, signing: borrowing SigningKey
    ) throws(TrustError) -> [UInt8] {
        try request(by: card, signing: signing, nonce: .random())
    }

    /// As above, with a nonce that this invite's key has never been used with.
    func request(
        by card: IdentityCard, signing: borrowing SigningKey, nonce: Nonce
    ) throws(TrustError) -> [UInt8] {
        guard card.identity.state.current?.signing == signing.publicID else {
            throw .wrongSignature(.joinRequest)
        }
        let head = JoinRequestRecord.associatedData(vault: vault, invite: id)
        let plaintext = signing.sign(head + card.bytes, for: .joinRequest) + card.bytes
        let sealed = unsafe RecordCipher.seal(
            plaintext.span.bytes, key: requestKey, nonce: nonce, associated: head.span.bytes)
        return JoinRequestRecord(vault: vault, invite: id, sealed: sealed).bytes
    }

    /// Opens a join request: proof that somebody who has the invite, and this identity, asks for membership.
    ///
    /// - Throws: `.noSuchInvite` for a request that names another, `.crypto` for one that was made without the
    ///   secret, and what is wrong with the card.
    func card(of request: JoinRequestRecord) throws(TrustError) -> IdentityCard {
        guard request.vault == vault, request.invite == id else { throw .noSuchInvite }
        let head = JoinRequestRecord.associatedData(vault: vault, invite: id)
        let plaintext: [UInt8]
        do throws(CryptoError) {
            plaintext = try unsafe RecordCipher.open(
                request.sealed.span.bytes, key: requestKey, associated: head.span.bytes)
        } catch {
            throw .crypto(error)
        }
        guard plaintext.count > SigningKey.signatureByteCount else { throw .format(.truncated) }
        let signature = Array(plaintext.prefix(SigningKey.signatureByteCount))
        let card = try IdentityCard(Array(plaintext.dropFirst(SigningKey.signatureByteCount)))
        guard let keys = card.identity.state.current else { throw .identityRevoked }
        try check(signature, of: head + card.bytes, by: keys.signing, for: .joinRequest)
        return card
    }
}

/// The invites of a vault that nobody has used yet: kept, sealed, by who invited.
///
/// That each is used once is not for this record alone to see to: a link names the invite that it admits by, and
/// the member chain takes no invite twice.
///
///     offset  bytes  field
///          0      4  number of invites
///          4      …  each: length (2), then its fields as in an invite's text, without the checksum
package struct OpenInvites: Sendable {
    private var invites: [InviteID: Invite] = [:]
    /// The most invites that a vault can have open.
    package static let countMax = 4096

    /// None.
    package init() {}

    /// Somebody who asks for membership, and may have it.
    package struct Admission: Sendable {
        /// Who.
        package let card: IdentityCard
        /// As what.
        package let role: Role
        /// By which invite.
        package let invite: InviteID
    }

    /// All open invites, those that end first in front.
    package var all: [Invite] {
        invites.values.sorted { ($0.expires, $0.id) < ($1.expires, $1.id) }
    }

    /// Takes an invite.
    ///
    /// - Throws: `.tooManyInvites`.
    package mutating func add(_ invite: Invite) throws(TrustError) {
        guard invites.count < Self.countMax else { throw .tooManyInvites }
        invites[invite.id] = invite
    }

    /// Forgets an invite, because it was used or is withdrawn.
    package mutating func remove(_ id: InviteID) {
        invites[id] = nil
    }

    /// Forgets the invites that have ended.
    package mutating func removeExpired(at time: Int64) {
        invites = invites.filter { $0.value.expires > time }
    }

    /// Checks a join request as it was found at the remote.
    ///
    /// The invite stays open until `remove`, as adding the member may still fail.
    ///
    /// - Throws: `.format`, `.noSuchInvite`, `.inviteExpired`, `.crypto`, and what is wrong with the card.
    package func admission(_ request: [UInt8], at time: Int64) throws(TrustError) -> Admission {
        let record = try reading { () throws(FormatError) in try JoinRequestRecord(request) }
        guard let invite = invites[record.invite], invite.vault == record.vault else { throw .noSuchInvite }
        try invite.checkTime(time)
        return Admission(card: try invite.card(of: record), role: invite.role, invite: invite.id)
    }

    /// The bytes, to be sealed and wiped.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 4 + invites.count * 2048)
        let all = all
        writer.number(UInt32(all.count))
        for invite in all {
            var fields = invite.fields
            writer.number(UInt16(fields.count))
            writer.append(fields)
            SecretBytes.wipe(&fields)
        }
        return writer.finish()
    }

    /// Reads the bytes.
    ///
    /// - Throws: `.format`, `.notAnInvite`, `.newerInvite`.
    package init(_ bytes: RawSpan) throws(TrustError) {
        var cursor = ByteCursor()
        let count = try reading { () throws(FormatError) in try cursor.number(UInt32.self, from: bytes) }
        guard count <= UInt32(Self.countMax) else { throw .format(.invalid(field: "number of invites")) }
        var last: Invite?
        for _ in 0..<count {
            let range = try reading { () throws(FormatError) in
                try cursor.range(Int(try cursor.number(UInt16.self, from: bytes)), of: bytes)
            }
            let invite = try Invite(fields: bytes.extracting(range))
            if let last, (last.expires, last.id) >= (invite.expires, invite.id) {
                throw .format(.invalid(field: "order of invites"))
            }
            invites[invite.id] = invite
            last = invite
        }
        try reading { () throws(FormatError) in try cursor.expectEnd(of: bytes) }
    }
}
