/// How sync of one vault stands.
package struct SyncReport: Codable, Sendable {
    /// The vault's name.
    package let vault: String
    /// Where the remote is.
    package let remote: String
    /// What this person may do: owner, admin, writer, reader; absent if it is not known, or not a member any more.
    package let role: String?
    /// What is done at the moment: idle, members, looking, fetching, sending, checkpoint, rebuilding.
    package let phase: String
    /// Why the last round did not get through; absent if it did.
    package let failure: String?
    /// Whether the remote has no room for what is to be sent.
    package var isRemoteFull = false
    /// Since when the remote has not answered, seconds since 1970; absent if it did in the last round.
    package let offlineSince: Int64?
    /// What is not as it should be; the rest of the vault goes on.
    package let findings: [String]
    /// Those of them by which the remote has less than it had, or something else than others say.
    package var doubts: [String] = []
    /// Items and names with changes that the remote does not have.
    package let unsentItems: Int
    /// Bytes of contents that the remote does not have.
    package var unsentBytes: Int64 = 0
    /// Commits of others that are known and not applied.
    package let commitsLeft: Int
    /// Bytes of objects that were sent, and that were fetched, since the profile was opened or mounted.
    package var sentBytes: Int64 = 0, receivedBytes: Int64 = 0
    /// Bytes that went and came in each of the last five seconds, on the average.
    package var bytesPerSecond: Int64 = 0
    /// The vault of this device alone that took what was written here and may not be sent; absent if nothing did since
    /// the profile was opened or mounted.
    package var asideVault: String?
    /// When changes of others show, for people; absent where that is not known.
    package var arrival: String?
    /// When a round last got through, seconds since 1970; absent if none has since the start.
    package let lastRound: Int64?
    /// Why an owner's or admin's device is to change the keys; absent if nothing makes it.
    package let rotationOwed: String?
    /// Bytes of live content that keys of an earlier epoch open.
    package let oldEpochBytes: Int64
    /// Every device that ever wrote to the vault.
    package let devices: [DeviceReport]

    /// Commits that are known and not applied, and that no round takes in at this moment.
    package var commitsWaiting: Int { phase == "idle" ? commitsLeft : 0 }

    /// Whose a device is and what it is called, with its identity where others are called the same.
    package func place(of device: DeviceReport) -> String {
        let isAmbiguous = devices.contains { $0.place == device.place && $0.identity != device.identity }
        return isAmbiguous ? "\(device.place) (identity \(device.identity.prefix(16)))" : device.place
    }
}

/// A device as the log tells of it.
package struct DeviceReport: Codable, Sendable {
    /// Whose it is.
    package let name: String
    /// What it is called.
    package let label: String
    /// The id of the identity whose it is: 64 hexadecimal digits.
    package let identity: String
    /// The number of its last commit that is known here.
    package let commit: UInt64
    /// When that was made, by its clock, seconds since 1970.
    package let time: Int64
    /// Whether it is a member's: of who has left or was removed nothing more comes.
    package let isMembers: Bool
    /// Whether it has said that it has all that this device sent.
    package let hasOurs: Bool
    /// Whether it is this device.
    package let isThis: Bool

    /// Whose it is and what it is called, for people: “Ann on laptop”, “Ann's laptop”.
    package var place: String {
        !name.isEmpty && label.hasPrefix("\(name)'s ") ? label : "\(name) on \(label)"
    }
}

/// What came of trying a remote.
package struct RemoteTestReport: Codable, Sendable {
    /// The remote, for people.
    package let remote: String
    /// What was tried, in order.
    package let steps: [Step]

    /// One thing that was tried.
    package struct Step: Codable, Sendable {
        /// What.
        package let name: String
        /// Milliseconds that it took.
        package let milliseconds: Double
        /// Why it failed; absent if it did not.
        package let failure: String?
    }

    /// Whether all is well.
    package var isUsable: Bool { steps.allSatisfy { $0.failure == nil } }
}

/// The members of a vault.
package struct MembersReport: Codable, Sendable {
    /// All members.
    package let members: [Member]
    /// Invites that this person gave and nobody has used.
    package let invites: [OpenInvite]
    /// Why an owner's or admin's device is to change the keys; absent if nothing makes it.
    package let rotationOwed: String?

    /// A member.
    package struct Member: Codable, Sendable {
        /// What the member is called; not proven.
        package let name: String
        /// What the member says to be called, if that is another name than the one whose words were compared.
        package var claims: String?
        /// owner, admin, writer or reader.
        package let role: String
        /// The identity's id: 64 hexadecimal digits.
        package let identity: String
        /// Words to compare aloud.
        package let fingerprint: String
        /// Whether this person has compared them.
        package let isVerified: Bool
        /// How the member's keys stand: valid, expired (it was not online for long), unseen, rolled (newer than the
        /// vault knows), revoked.
        package let keys: String
        /// When the transient key ends, or ended, seconds since 1970; absent if none is known.
        package let keysUntil: Int64?
        /// Since when, seconds since 1970.
        package let since: Int64
        /// Who added the member; absent for who made the vault.
        package let addedBy: String?
        /// Whether it is this person.
        package let isThis: Bool
    }

    /// An invite that nobody has used.
    package struct OpenInvite: Codable, Sendable {
        /// Names it, without being a secret: 32 hexadecimal digits.
        package let id: String
        /// What who uses it becomes.
        package let role: String
        /// Until when, seconds since 1970.
        package let expires: Int64
    }
}

/// What a member who was removed can still read, and what not.
package struct RemovalReport: Codable, Sendable {
    /// What the member was called.
    package let name: String
    /// The identity's id: 64 hexadecimal digits.
    package let identity: String
    /// By whom.
    package let removedBy: String
    /// When, seconds since 1970.
    package let time: Int64
    /// The last epoch whose key the member had.
    package let lastEpoch: UInt32
    /// Up to which commit of each device the member can read.
    package let readable: [Revision]
    /// The last commits of the member's own devices that count.
    package let accepted: [Revision]
    /// Bytes of live content under later epochs, and under those whose keys the member had.
    package let newBytes: Int64, oldBytes: Int64

    /// A commit of a device.
    package struct Revision: Codable, Sendable {
        /// The device, as “name on label”.
        package let device: String
        /// The number of the commit.
        package let commit: UInt64
    }
}

/// What came of asking for membership.
package struct JoinReport: Codable, Sendable {
    /// What the vault is called here.
    package let vault: String
    /// Whether it can be used; else somebody with the right to admit must be online first.
    package let isMember: Bool
    /// What the person may do.
    package let role: String
}

/// A vault that a person has asked to join, and is not a member of yet.
package struct AskedJoin: Codable, Sendable {
    /// What the vault is to be called here.
    package let vault: String
    /// Where it is.
    package let remote: String
    /// What the person would become.
    package let role: String
    /// Until when the invite can be used, seconds since 1970.
    package let expires: Int64
    /// What has not arrived at the remote, without which nobody can be a member; absent if nothing is missing.
    package var delay: String?
}

/// An identity, for people to compare.
package struct IdentityReport: Codable, Sendable {
    /// What the person is called; not proven.
    package let name: String
    /// The identity's id: 64 hexadecimal digits.
    package let identity: String
    /// Words to compare aloud.
    package let fingerprint: String
    /// The identity card, as text to be handed to others.
    package let card: String?
    /// Whether this person has compared the words.
    package let isVerified: Bool
}

/// Two versions of something, both of which are there.
package struct ConflictReport: Codable, Sendable {
    /// The vault's name.
    package let vault: String
    /// The copy, as a path in the vault.
    package let path: String
    /// What has the name that the copy would have; absent if nothing has it now.
    package let original: String?
    /// What the device is called on which the copy's version was written.
    package let author: String
    /// The day that was, as “2026-11-20”, UTC.
    package let date: String
}
