package import CofferFacts
package import CofferFormat
package import CofferTrust
internal import CofferRemote

/// How sync stands, and who is a member, at one moment.
package struct SyncSnapshot: Sendable {
    /// How sync stands.
    package let status: SyncStatus
    /// The members, as far as they are known.
    package let chain: MemberChain
    /// What this user may do in the vault; nil if it is no member, or not known to be one.
    package let role: Role?
}

/// How sync stands, for people and programs to see.
package struct SyncStatus: Equatable, Sendable {
    /// What is done at the moment.
    package var phase = SyncPhase.idle
    /// Why the last round did not end well; stays until one does.
    package var failure: SyncError?
    /// What is not as it should be; each thing stays until it is well again.
    package var findings: [SyncFinding] = []
    /// What was done, and what is left.
    package var progress = SyncProgress()
    /// All devices that have written a commit, this one too, in the order of their log ids.
    package var devices: [DeviceStatus] = []
    /// When a round last ended well, in milliseconds since 1970; nil if none did since sync began.
    package var succeededAt: UInt64?
    /// Since when no round has reached the remote, in milliseconds since 1970; nil if the last one did.
    package var offlineSince: UInt64?

    /// How many bytes had been put when the remote last had no room; nil if something was put since.
    private var bytesSentWhenFull: Int?

    /// Before anything was done.
    package init() {}

    /// Whether the remote had no room for what was put last.
    ///
    /// A round with nothing to put ends well on a full remote, too.
    package var isRemoteFull: Bool { bytesSentWhenFull != nil }

    mutating func succeeded(at milliseconds: UInt64) {
        if progress.bytesSent != bytesSentWhenFull { bytesSentWhenFull = nil }
        (failure, offlineSince, succeededAt) = (nil, nil, milliseconds)
    }

    mutating func failed(_ error: SyncError, at milliseconds: UInt64) {
        // Whoever cancels knows; what was wrong before still is.
        guard error != .cancelled else { return }
        failure = error
        if error.isRemoteFull { bytesSentWhenFull = progress.bytesSent }
        if case .remote(let error, _) = error, error.canRetryHelp {
            offlineSince = offlineSince ?? milliseconds
        } else {
            offlineSince = nil
        }
    }
}

/// What is known of a device that writes to the vault.
package struct DeviceStatus: Equatable, Sendable {
    /// Whose it is, and what it is called.
    package let author: LogAuthor
    /// By which identity its commits are signed.
    package let identity: IdentityID
    /// Whether it is this one.
    package let isThisDevice: Bool
    /// Its last commit that was applied here.
    package let sequence: UInt64
    /// When that was made by its clock, in milliseconds since 1970.
    package let milliseconds: UInt64
    /// Whether its user is a member now.
    package let isMembers: Bool
    /// Whether it says to have applied all that this device has changed.
    package let hasAllOfThisDevice: Bool
}

/// What was done since sync began, and what is left as far as it is known.
package struct SyncProgress: Equatable, Sendable {
    /// Commits of others that were applied, and that are known to be there and not applied.
    package var commitsApplied = 0, commitsLeft = 0
    /// Commits of this device that were put.
    package var commitsSent = 0
    /// Bytes of commits, packs and checkpoints that were put, and that were fetched.
    package var bytesSent = 0, bytesFetched = 0
    /// Bytes of the pack or commit that is being put.
    package var bytesToSend = 0

    /// Nothing was done.
    package init() {}
}

/// The author of a log, for messages.
package struct LogAuthor: Hashable, Sendable, CustomStringConvertible {
    /// The log.
    package let log: LogID
    /// What the author is called; nil as long as nothing of the log was verified.
    package let name: String?
    /// What the device is called.
    package let label: String?

    package var description: String {
        guard let name, let label else { return "log \(log)" }
        // Most labels say whose the device is.
        return label.hasPrefix("\(name)'s ") ? label : "\(name) on \(label)"
    }
}

/// Something that is not as it should be; the rest of the vault goes on.
package enum SyncFinding: Equatable, Sendable {
    /// A commit is not applied, and so none behind it in its log.
    case stopped(LogAuthor, sequence: UInt64, CommitProblem)
    /// In the place of a log's next commit is one that somebody else has signed: whoever's log it is goes on over it.
    case intruder(LogAuthor, sequence: UInt64, IdentityID, name: String?)
    /// In the place of a commit of this device was something else, which somebody put there, if that is known: it was
    /// overwritten.
    case obstacle(sequence: UInt64, IdentityID?, name: String?)
    /// A commit waits for another one that the remote does not have.
    case gap(LogAuthor, missing: UInt64, waiting: LogAuthor, sequence: UInt64)
    /// A commit that the remote lists, or has later ones of the same log than, could not be had twice.
    case absent(LogAuthor, sequence: UInt64)
    /// The author, or the storage, has two histories of a log.
    case forked(LogAuthor, ForkedLog)
    /// The remote shows less of a log than it did.
    case stale(LogAuthor, known: UInt64, shown: UInt64)
    /// Somebody has more logs than are applied: so many wait.
    case tooManyLogs(IdentityID, name: String?, waiting: Int)
    /// Commits were applied which do not count any more, from this one on: their author was removed, and who removed
    /// it did not have them.
    case withdrawn(LogAuthor, from: UInt64)
    /// A commit says something that no device of ours says.
    case complaint(LogAuthor, FactComplaint)
    /// A device that has applied the same shows something else, or did.
    case otherState(LogAuthor, sequence: UInt64)
    /// A device's clock is ahead of this one's by more than a day: so many milliseconds.
    case clockAhead(LogAuthor, milliseconds: UInt64)
    /// The member chain does not go on.
    case memberLink(sequence: UInt64, TrustError)
    /// The remote shows fewer links of the member chain than it did.
    case staleMembers(known: UInt64)
    /// A checkpoint is not what it should be.
    case checkpoint(LogAuthor, sequence: UInt64, CheckpointProblem)
    /// Something about members, their keys, or requests to join.
    case membership(MembershipFinding)
}

/// Why a checkpoint is not taken.
package enum CheckpointProblem: Error, Equatable {
    /// Its record is not what it should be.
    case record(CommitProblem)
    /// No commit of its log announces it.
    case notAnnounced
    /// Its author is no admin, and nobody else has confirmed it.
    case notConfirmed
    /// It covers commits that do not count.
    case coversWithdrawn(LogID)
    /// A piece is not there, or not what it should be.
    case piece(Int)
    /// Its facts show something else than it says.
    case otherState
}

extension CheckpointProblem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .record(let problem): "it \(problem)"
        case .notAnnounced: "no commit of its log announces it"
        case .notConfirmed: "its author is no admin, and nobody else has confirmed it"
        case .coversWithdrawn(let log): "it covers commits of log \(log) that do not count"
        case .piece(let number): "its piece \(number) is not there, or not what it should be"
        case .otherState: "its facts show something else than it says"
        }
    }
}

extension SyncFinding: CustomStringConvertible {
    package var description: String {
        switch self {
        case .stopped(let author, let sequence, let problem): "commit \(sequence) of \(author) \(problem)"
        case .intruder(let author, let sequence, let identity, let name):
            "in the place of commit \(sequence) of \(author) is one by \(name ?? "identity \(identity)"), which does not count"
        case .obstacle(let sequence, let identity, let name):
            "in the place of commit \(sequence) of this device was something else"
                + (identity.map { ", by \(name ?? "identity \($0)")" } ?? "") + ": it was overwritten"
        case .gap(let author, let missing, let waiting, let sequence):
            "commit \(missing) of \(author) is not at the remote, and commit \(sequence) of \(waiting) waits for it"
        case .absent(let author, let sequence):
            "commit \(sequence) of \(author) is not at the remote, and what follows waits for it"
        case .forked(let author, let fork):
            "\(author) has two commits \(fork.dot.sequence): \(fork.known), which is known here, and \(fork.other)"
                + (fork.isProven
                    ? "" : fork.witness.map { ", as commit \($0.sequence) of log \($0.log) says" } ?? "")
        case .stale(let author, let known, let shown):
            "the remote shows commits of \(author) up to \(shown), and had shown them up to \(known)"
        case .tooManyLogs(let identity, let name, let count):
            "\(name ?? "\(identity)") has too many logs: \(count) of them are not read; remove who floods the vault"
        case .withdrawn(let author, let first):
            "the commits of \(author) from \(first) on are taken back: they were not there when the "
                + "author was removed, or lost the right to write"
        case .complaint(let author, let complaint): "\(author) says something odd: \(complaint.words)"
        case .otherState(let author, let sequence):
            "\(author) shows something else than this device, as of commit \(sequence)"
        case .clockAhead(let author, let milliseconds):
            "the clock of \(author) is ahead by \(milliseconds / 86_400_000) days"
        case .memberLink(let sequence, let error): "link \(sequence) of the members is refused: \(error)"
        case .staleMembers(let known):
            "the remote shows fewer than the \(known) links of the members that it had"
        case .checkpoint(let author, let sequence, let problem):
            "checkpoint \(sequence) of \(author) is not taken: \(problem)"
        case .membership(let finding): finding.description
        }
    }
}
