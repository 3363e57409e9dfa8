internal import CofferCrypto
package import CofferFormat

/// The unused invites of a vault, which the inviter's profile stores sealed.
///
/// This record alone does not ensure that each invite is used only once: a link names the invite that it
/// admits by, and the member chain accepts no invite twice. Withdrawn invites are stored as well, so that a
/// person who asks with one gets an answer.
///
///     offset  bytes  field
///          0      4  number of invites
///          4      …  each: length (2), then its fields as in an invite's text, without the checksum
///          …      …  the same for withdrawn invites; absent if there are none
package struct OpenInvites: Sendable {
    private var invites: [InviteID: Invite] = [:]
    private var withdrawn: [InviteID: Invite] = [:]
    /// The largest number of open invites of a vault.
    package static let countMax = 4096
    /// The largest number of withdrawn invites; if there are more, those that expire last are kept.
    private static let withdrawnCountMax = 256

    /// Begins without invites.
    package init() {}

    /// A person who asks for membership, and may be admitted.
    package struct Admission: Sendable {
        /// The identity card of the person.
        package let card: IdentityCard
        /// The role that the person gets.
        package let role: Role
        /// The invite with which the person asks.
        package let invite: InviteID
    }

    /// All open invites, in the order in which they expire.
    package var all: [Invite] { Self.ordered(invites) }

    private static func ordered(_ invites: [InviteID: Invite]) -> [Invite] {
        invites.values.sorted { ($0.expires, $0.id) < ($1.expires, $1.id) }
    }

    /// Whether there are no invites, open or withdrawn.
    package var isEmpty: Bool { invites.isEmpty && withdrawn.isEmpty }

    /// The invite with an id, open or withdrawn; nil if there is none.
    package subscript(_ id: InviteID) -> Invite? { invites[id] ?? withdrawn[id] }

    /// Adds an invite.
    ///
    /// - Throws: `.tooManyInvites`.
    package mutating func add(_ invite: Invite) throws(TrustError) {
        guard invites.count < Self.countMax else { throw .tooManyInvites }
        invites[invite.id] = invite
    }

    /// Removes an invite that was used.
    package mutating func remove(_ id: InviteID) {
        invites[id] = nil
        withdrawn[id] = nil
    }

    /// Withdraws an invite, so that it admits nobody.
    package mutating func withdraw(_ id: InviteID) {
        guard let invite = invites.removeValue(forKey: id) else { return }
        withdrawn[id] = invite
        if withdrawn.count > Self.withdrawnCountMax, let first = Self.ordered(withdrawn).first {
            withdrawn[first.id] = nil
        }
    }

    /// Removes the invites that have expired.
    package mutating func removeExpired(at time: Int64) {
        invites = invites.filter { $0.value.expires > time }
        withdrawn = withdrawn.filter { $0.value.expires > time }
    }

    /// Checks a join request that was found at the remote.
    ///
    /// The invite stays open until `remove` is called, as adding the member may still fail.
    ///
    /// - Throws: `.format`, `.noSuchInvite`, `.inviteExpired`, `.inviteWithdrawn`, `.crypto`, and what is
    ///   wrong with the card.
    package func admission(_ request: [UInt8], at time: Int64) throws(TrustError) -> Admission {
        let record = try reading { () throws(FormatError) in try JoinRequestRecord(request) }
        guard let invite = self[record.invite], invite.vault == record.vault else { throw .noSuchInvite }
        try invite.checkTime(time)
        let card = try invite.card(of: record)
        guard withdrawn[invite.id] == nil else { throw .inviteWithdrawn }
        return Admission(card: card, role: invite.role, invite: invite.id)
    }

    /// An upper bound of the size of `bytes`.
    package var byteCountMax: Int { 8 + (invites.count + withdrawn.count) * Self.inviteByteCountMax }

    private static let inviteByteCountMax = 2048

    /// The encoded invites, which the caller must seal and wipe.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: byteCountMax)
        Self.write(invites, into: &writer)
        if !withdrawn.isEmpty { Self.write(withdrawn, into: &writer) }
        return writer.finish()
    }

    private static func write(_ invites: [InviteID: Invite], into writer: inout ByteWriter) {
        let all = ordered(invites)
        writer.number(UInt32(all.count))
        for invite in all {
            var fields = invite.fields
            writer.number(UInt16(fields.count))
            writer.append(fields)
            SecretBytes.wipe(&fields)
        }
    }

    /// Reads encoded invites.
    ///
    /// - Throws: `.format`, `.notAnInvite`, `.newerInvite`.
    package init(_ bytes: RawSpan) throws(TrustError) {
        var cursor = ByteCursor()
        invites = try Self.read(atLeast: 0, at: &cursor, of: bytes)
        if cursor.offset < bytes.byteCount { withdrawn = try Self.read(atLeast: 1, at: &cursor, of: bytes) }
        try reading { () throws(FormatError) in try cursor.expectEnd(of: bytes) }
    }

    private static func read(
        atLeast countMin: UInt32, at cursor: inout ByteCursor, of bytes: RawSpan
    ) throws(TrustError) -> [InviteID: Invite] {
        let count = try reading { () throws(FormatError) in try cursor.number(UInt32.self, from: bytes) }
        guard (countMin...UInt32(countMax)).contains(count) else {
            throw .format(.invalid(field: "number of invites"))
        }
        var invites: [InviteID: Invite] = [:]
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
        return invites
    }
}
