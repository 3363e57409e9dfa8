internal import CofferSync

/// The state of the sync of one vault.
package struct SyncReport: Codable, Equatable, Sendable {
    /// The vault's name.
    package let vault: String
    /// The URL of the remote.
    package let remote: String
    /// This person's role: owner, admin, writer, reader; absent if unknown, or if the person is no longer a
    /// member.
    package let role: String?
    /// The current activity: idle, members, looking, fetching, sending, checkpoint, rebuilding.
    package let phase: String
    /// Why the last round failed; absent if it succeeded.
    package let failure: String?
    /// Whether the remote has no space for unsent changes.
    package var isRemoteFull = false
    /// Whether the profile has credentials for the remote.
    package var hasLogin = false
    /// The time since which the remote has not answered, in seconds since 1970; absent if it answered in the
    /// last round.
    package let offlineSince: Int64?
    /// Irregularities as text; they do not stop the rest of the vault.
    package let findings: [String]
    /// The findings by which the remote has less than before, or contradicts other devices.
    package var doubts: [String] = []
    /// The findings by which the remote had lost something that this device has put back.
    package var repairs: [String] = []
    /// The number of items and names with changes that the remote does not have.
    package let unsentItems: Int
    /// The number of bytes of content that are still to be sent: an estimate while a large file is sent.
    package var unsentBytes: Int64 = 0
    /// The number of known commits of others that are not applied yet.
    package let commitsLeft: Int
    /// Bytes of objects sent and fetched since the profile was opened or mounted.
    package var sentBytes: Int64 = 0, receivedBytes: Int64 = 0
    /// Bytes sent and fetched per second, averaged over the last five seconds.
    package var bytesPerSecond: Int64 = 0
    /// The name of the vault on this device alone that received changes which may not be sent.
    ///
    /// Absent if there were none since the profile was opened or mounted.
    package var asideVault: String?
    /// A text about how soon changes of others appear; absent if unknown.
    package var arrival: String?
    /// The time of the last successful round, in seconds since 1970; absent without one since the start.
    package var lastRound: Int64?
    /// Why the device of an owner or admin must rotate the keys; absent if it need not.
    package let rotationOwed: String?
    /// Bytes of live content sealed under earlier epochs.
    package let oldEpochBytes: Int64
    /// Every device that ever wrote to the vault.
    package let devices: [DeviceReport]

    /// The number of known commits that are not applied yet, and that no current round applies.
    package var commitsWaiting: Int { phase == "idle" ? commitsLeft : 0 }

    /// The report without what changes in every round: times, speeds, and counts of bytes.
    package var withoutTraffic: SyncReport {
        var report = self
        report.lastRound = nil
        report.bytesPerSecond = 0
        report.sentBytes = 0
        report.receivedBytes = 0
        return report
    }

    /// The owner and label of a device as text, with the identity if another device has the same text.
    package func place(of device: DeviceReport) -> String {
        let isAmbiguous = devices.contains { $0.place == device.place && $0.identity != device.identity }
        return isAmbiguous ? "\(device.place) (identity \(device.identity.prefix(16)))" : device.place
    }
}

/// A device that has a log in the vault.
package struct DeviceReport: Codable, Equatable, Sendable {
    /// The name of its owner.
    package let name: String
    /// The device's label.
    package let label: String
    /// The id of the owner's identity: 64 hexadecimal digits.
    package let identity: String
    /// The number of its newest commit that is known here.
    package let commit: UInt64
    /// The time of that commit by the device's clock, in seconds since 1970.
    package let time: Int64
    /// Whether its owner is a member; a person who has left or was removed sends nothing more.
    package let isMembers: Bool
    /// Whether it has confirmed everything that this device sent.
    package let hasOurs: Bool
    /// Whether it is this device.
    package let isThis: Bool

    /// The owner and the label as text: “Ann on laptop”, “Ann's laptop”.
    package var place: String { LogAuthor.place(label, of: name) }
}

/// The result of a test of a remote.
package struct RemoteTestReport: Codable, Sendable {
    /// The remote as text.
    package let remote: String
    /// The steps, in order.
    package let steps: [Step]
    /// What the remote lacks, although all steps succeeded; sentences.
    package let shortcomings: [String]

    /// One step of the test.
    package struct Step: Codable, Sendable {
        /// The name of the step.
        package let name: String
        /// Its duration.
        package let milliseconds: Double
        /// Why it failed; absent if it succeeded.
        package let failure: String?
    }

    /// Whether all steps succeeded.
    package var isUsable: Bool { steps.allSatisfy { $0.failure == nil } }
}

/// The members and open invites of a vault.
package struct MembersReport: Codable, Sendable {
    /// All members.
    package let members: [Member]
    /// Invites that this person issued and that are not used yet.
    package let invites: [OpenInvite]
    /// Why the device of an owner or admin must rotate the keys; absent if it need not.
    package let rotationOwed: String?
    /// A change of the members that waits until the remote accepts it; absent if none does.
    package var waiting: String?

    /// A member of the vault.
    package struct Member: Codable, Sendable {
        /// The name to show; not proven.
        package let name: String
        /// The name that the member claims now, if it differs from the one when the words were compared.
        package var claims: String?
        /// The role: owner, admin, writer or reader.
        package let role: String
        /// The identity's id: 64 hexadecimal digits.
        package let identity: String
        /// The words to compare aloud.
        package let fingerprint: String
        /// Whether this person has compared the words.
        package let isVerified: Bool
        /// The state of the member's keys: valid, expired, unseen, rolled, revoked.
        ///
        /// Keys expire if the member is offline for long. Rolled keys are newer than the vault knows.
        package let keys: String
        /// The time when the transient key expires or expired, in seconds since 1970; absent if none is
        /// known.
        package let keysUntil: Int64?
        /// The time when the member joined, in seconds since 1970.
        package let since: Int64
        /// The name of the person who added the member; absent for the creator of the vault.
        package let addedBy: String?
        /// Whether it is this person.
        package let isThis: Bool
    }

    /// An invite that is not used yet.
    package struct OpenInvite: Codable, Sendable {
        /// The invite's id, which is not secret: 32 hexadecimal digits.
        package let id: String
        /// The role that it grants.
        package let role: String
        /// The time when it expires, in seconds since 1970.
        package let expires: Int64
    }
}

/// What a removed member can still read, and what not.
package struct RemovalReport: Codable, Sendable {
    /// The name of the removed member.
    package let name: String
    /// The identity's id: 64 hexadecimal digits.
    package let identity: String
    /// The name of the member who removed them.
    package let removedBy: String
    /// The time of the removal, in seconds since 1970.
    package let time: Int64
    /// The last epoch whose key the member had.
    package let lastEpoch: UInt32
    /// For each device, the last commit that the member can read.
    package let readable: [Revision]
    /// For each device of the member, the last commit that counts.
    package let accepted: [Revision]
    /// Bytes of live content under later epochs, and under epochs whose keys the member had.
    package let newBytes: Int64, oldBytes: Int64

    /// A commit of a device.
    package struct Revision: Codable, Sendable {
        /// The device, as “name on label”.
        package let device: String
        /// The number of the commit.
        package let commit: UInt64
    }
}

/// The result of a request to join.
package struct JoinReport: Codable, Sendable {
    /// The name of the vault here.
    package let vault: String
    /// Whether the vault can be used; if not, a device that may admit members must come online first.
    package let isMember: Bool
    /// The role of this person.
    package let role: String
}

/// A vault that this person has asked to join, and is not a member of yet.
package struct AskedJoin: Codable, Sendable {
    /// The name that the vault will have here.
    package let vault: String
    /// The URL of the remote.
    package let remote: String
    /// The role that the invite grants.
    package let role: String
    /// The time when the invite expires, in seconds since 1970.
    package let expires: Int64
    /// What is missing at the remote, without which joining is impossible; absent if nothing is.
    package var delay: String?
}

/// An identity with the words to compare.
package struct IdentityReport: Codable, Sendable {
    /// The person's name; not proven.
    package let name: String
    /// The identity's id: 64 hexadecimal digits.
    package let identity: String
    /// The words to compare aloud.
    package let fingerprint: String
    /// The text of the identity card, to give to others; only for the person's own identity.
    package let card: String?
    /// Whether this person has compared the words.
    package let isVerified: Bool
}

/// A conflict copy.
package struct ConflictReport: Codable, Sendable {
    /// The vault's name.
    package let vault: String
    /// The path of the copy in the vault.
    package let path: String
    /// The path of the item that has the original name; absent if there is none now.
    package let original: String?
    /// The label of the device that wrote the copy's version.
    package let author: String
    /// The date of that version in UTC, such as “2026-11-20”.
    package let date: String
}
