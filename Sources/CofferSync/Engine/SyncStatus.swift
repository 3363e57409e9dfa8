package import CofferFormat
package import CofferTrust
internal import CofferRemote

/// The state of sync and the members, at one moment.
package struct SyncSnapshot: Sendable {
    /// The state of sync.
    package let status: SyncStatus
    /// The members, as far as they are known.
    package let chain: MemberChain
    /// This user's role in the vault; nil if the user is not a member, or not known to be one.
    package let role: Role?
}

/// The state of sync, for display and for programs.
package struct SyncStatus: Equatable, Sendable {
    /// The current phase.
    package var phase = SyncPhase.idle
    /// Why the last round failed; stays until one succeeds.
    package var failure: SyncError?
    /// Problems; each stays until it is resolved.
    package var findings: [SyncFinding] = []
    /// What was done, and what is left.
    package var progress = SyncProgress()
    /// All devices that have written a commit, including this one, in the order of their log ids.
    package var devices: [DeviceStatus] = []
    /// When a round last succeeded, in milliseconds since 1970; nil if none has since sync began.
    package var succeededAt: UInt64?
    /// Since when no round has reached the remote, in milliseconds since 1970; nil if the last one did.
    package var offlineSince: UInt64?

    /// The state before the first round.
    package init() {}

    /// Whether the remote was full, and changes of this device have not been sent since.
    ///
    /// A round that finds nothing ready to be sent, or a small change that still fits, succeeds even on a full
    /// remote.
    package private(set) var isRemoteFull = false

    /// - Parameter isAllSent: Whether no change of this device is unsent.
    mutating func succeeded(at milliseconds: UInt64, isAllSent: Bool) {
        if isAllSent { isRemoteFull = false }
        (failure, offlineSince, succeededAt) = (nil, nil, milliseconds)
    }

    mutating func failed(_ error: SyncError, at milliseconds: UInt64) {
        // The caller knows that it cancelled; an earlier failure still holds.
        guard error != .cancelled else { return }
        failure = error
        if error.isRemoteFull { isRemoteFull = true }
        if case .remote(let error, _) = error, error.canRetryHelp {
            offlineSince = offlineSince ?? milliseconds
        } else {
            offlineSince = nil
        }
    }
}

/// What is known of a device that writes to the vault.
package struct DeviceStatus: Equatable, Sendable {
    /// The names of its user and of the device.
    package let author: LogAuthor
    /// The identity that signs its commits.
    package let identity: IdentityID
    /// Whether it is this device.
    package let isThisDevice: Bool
    /// The number of its last commit that was applied here.
    package let sequence: UInt64
    /// The time of that commit by the device's clock, in milliseconds since 1970.
    package let milliseconds: UInt64
    /// Whether its user is currently a member.
    package let isMembers: Bool
    /// Whether it has made a commit since its user's identity keys last changed; a lost device never does.
    package let hasNewestKeys: Bool
    /// Whether it has acknowledged all changes by this device.
    package let hasAllOfThisDevice: Bool
}

/// What was done since sync began, and what is left as far as that is known.
package struct SyncProgress: Equatable, Sendable {
    /// Commits of others: the number applied, and the number known to exist and not applied yet.
    package var commitsApplied = 0, commitsLeft = 0
    /// The number of this device's commits that were put.
    package var commitsSent = 0
    /// Bytes of commits, packs and checkpoints that were put.
    package var bytesSent = 0
    /// Bytes of the pack or commit that is being put.
    package var bytesToSend = 0

    /// The state before anything was done.
    package init() {}
}

/// A log, and whose it is.
package struct KnownLog: Sendable {
    /// What its owner calls themselves, and the device.
    package let author: LogAuthor
    /// The owner's identity.
    package let identity: IdentityID
}

/// The author of a log, for messages.
package struct LogAuthor: Hashable, Sendable, CustomStringConvertible {
    /// The log's id.
    package let log: LogID
    /// The author's name; nil as long as nothing of the log was verified.
    package let name: String?
    /// The device's name.
    package let label: String?

    package var description: String {
        guard let name, let label else { return "log \(log)" }
        return Self.place(label, of: name)
    }

    /// A device and its owner as text: “Ann on laptop”, “Ann's laptop”.
    package static func place(_ label: String, of name: String) -> String {
        // Most labels contain the name of the device's owner.
        !name.isEmpty && label.hasPrefix("\(name)'s ") ? label : "\(name) on \(label)"
    }
}
