package import CofferFacts
package import CofferFormat
package import CofferRemote
package import CofferTrust
internal import CofferSystem

/// A problem that does not stop the rest of the vault from syncing.
package enum SyncFinding: Equatable, Sendable {
    /// A commit was not applied, and so none after it in its log.
    case stopped(LogAuthor, sequence: UInt64, CommitProblem)
    /// Another member has put a commit in the place of a log's next one; the log's owner overwrites it.
    case intruder(LogAuthor, sequence: UInt64, IdentityID, name: String?)
    /// Something else was in the place of a commit of this device, put there by this author if known; it was
    /// overwritten.
    case obstacle(sequence: UInt64, IdentityID?, name: String?)
    /// A commit waits for another one that the remote does not have.
    case gap(LogAuthor, missing: UInt64, waiting: LogAuthor, sequence: UInt64)
    /// A commit could not be found in two rounds, although the remote lists it, or a later one of its log.
    case absent(LogAuthor, sequence: UInt64)
    /// The remote had lost a commit of this device, and some others; this device has put them back.
    case putAgain(sequence: UInt64, others: Int)
    /// The remote has lost a commit of this device, and some others; this device no longer has their bytes.
    case ownLost(sequence: UInt64, others: Int)
    /// The remote had lost contents that this device has written; they are sent again.
    case contentsPutAgain(byteCount: Int)
    /// The remote has lost contents that this device has written and no longer has.
    case contentsLost(byteCount: Int)
    /// The remote does not let this device delete packs that nothing refers to.
    case packsStay(RemoteError)
    /// A log has two histories, made by its author or by the storage.
    case forked(LogAuthor, ForkedLog)
    /// The remote shows less of a log than before.
    case stale(LogAuthor, known: UInt64, shown: UInt64)
    /// An author has more logs than are applied; this many wait.
    case tooManyLogs(IdentityID, name: String?, waiting: Int)
    /// Applied commits no longer count, from this one on.
    ///
    /// Their author's right ended, and the member that ended it did not have them.
    case withdrawn(LogAuthor, from: UInt64)
    /// A commit states something that Coffer never states.
    case complaint(LogAuthor, FactComplaint)
    /// A device that has applied the same commits shows something else, or did so.
    case otherState(LogAuthor, sequence: UInt64)
    /// A device's clock is ahead of this one's by more than a day, in milliseconds.
    case clockAhead(LogAuthor, milliseconds: UInt64)
    /// The next link of the member chain is refused.
    case memberLink(sequence: UInt64, TrustError)
    /// The remote shows fewer links of the member chain than before.
    case staleMembers(known: UInt64)
    /// A checkpoint is refused.
    case checkpoint(LogAuthor, sequence: UInt64, CheckpointProblem)
    /// A problem with members, their keys, or requests to join.
    case membership(MembershipFinding)
}

/// Why a checkpoint is refused.
package enum CheckpointProblem: Error, Equatable {
    /// Its record is invalid.
    case record(CommitProblem)
    /// The commit after it in its log does not announce it.
    case notAnnounced
    /// The commit that must announce it has not arrived at the remote in several rounds.
    case announcementMissing
    /// It covers commits that do not count.
    case coversWithdrawn(LogID)
    /// A piece is missing or invalid.
    case piece(Int)
    /// Its facts do not match its state hash.
    case otherState
}

extension CheckpointProblem {
    /// Whether a search for the newest checkpoint finds it again as long as it exists.
    var isFoundBySearch: Bool {
        switch self {
        case .notAnnounced, .announcementMissing, .coversWithdrawn: true
        case .record, .piece, .otherState: false
        }
    }
}

extension CheckpointProblem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .record(let problem): "it \(problem)"
        case .notAnnounced: "the next commit of its log does not announce it"
        case .announcementMissing: "the commit that announces it has not arrived at the remote"
        case .coversWithdrawn(let log): "it covers commits of log \(log) that do not count"
        case .piece(let number): "its piece \(number) is missing or invalid"
        case .otherState: "its facts do not match its hash"
        }
    }
}

extension SyncFinding: CustomStringConvertible {
    package var description: String {
        switch self {
        case .stopped(let author, let sequence, let problem): "commit \(sequence) of \(author) \(problem)"
        case .intruder(let author, let sequence, let identity, let name):
            "\(name ?? "identity \(identity)") has put a commit in the place of commit \(sequence) of "
                + "\(author); it does not count"
        case .obstacle(let sequence, let identity, let name):
            "the remote had another object"
                + (identity.map { " by \(name ?? "identity \($0)")" } ?? "")
                + " in the place of commit \(sequence) of this device, which has overwritten it"
        case .gap(let author, let missing, let waiting, let sequence):
            "commit \(missing) of \(author) is not at the remote, and commit \(sequence) of \(waiting) "
                + "waits for it"
        case .absent(let author, let sequence):
            "commit \(sequence) of \(author) is not at the remote, and later ones wait for it"
        case .putAgain(let sequence, let others):
            "the remote had lost commit \(sequence) of this device\(others > 0 ? ", and \(others) more" : "")"
                + "; this device has put back what was lost"
        case .ownLost(let sequence, let others):
            "the remote has lost commit \(sequence) of this device\(others > 0 ? ", and \(others) more" : "")"
                + ", and this device has no copy left; devices that lack it wait for the next checkpoint"
        case .contentsPutAgain(let byteCount):
            "the remote had lost packs with \(ByteText.of(Int64(byteCount))) that this device wrote; it sends "
                + "them again"
        case .contentsLost(let byteCount):
            "the remote has lost packs with \(ByteText.of(Int64(byteCount))) that this device wrote and no longer "
                + "has; “coffer check” names the files"
        case .packsStay(let reason):
            "what no file has any more stays at the remote, and takes room there: \(reason)"
        case .forked(let author, let fork):
            "\(author) has two commits \(fork.dot.sequence): \(fork.known) on this device, and \(fork.other)"
                + (fork.isProven
                    ? "" : fork.witness.map { ", as commit \($0.sequence) of log \($0.log) says" } ?? "")
        case .stale(let author, let known, let shown):
            "the remote shows commits of \(author) only up to \(shown), after showing them up to \(known)"
        case .tooManyLogs(let identity, let name, let count):
            "\(name ?? "identity \(identity)") has too many logs: \(count) of them are not read; remove this "
                + "member"
        case .withdrawn(let author, let first):
            "the commits of \(author) from \(first) on are taken back: they had not arrived when the author "
                + "was removed, or lost the right to write"
        case .complaint(let author, let complaint): "\(author) says something odd: \(complaint.words)"
        case .otherState(let author, let sequence):
            "\(author), as of commit \(sequence), shows something else than this device"
        case .clockAhead(let author, let milliseconds):
            "the clock of \(author) is ahead by \(milliseconds / 86_400_000) days"
        case .memberLink(let sequence, let error): "link \(sequence) of the members is refused: \(error)"
        case .staleMembers(let known):
            "the remote shows fewer links of the members than the \(known) that it had"
        case .checkpoint(let author, let sequence, let problem):
            "checkpoint \(sequence) of \(author) is not used: \(problem)"
        case .membership(let finding): finding.description
        }
    }
}
