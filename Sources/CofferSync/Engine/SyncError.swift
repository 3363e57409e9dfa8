internal import CofferFacts
package import CofferFormat
package import CofferRemote
package import CofferSystem
package import CofferTrust

/// Why sync cannot continue.
package enum SyncError: Error, Equatable {
    /// The remote failed during this phase.
    case remote(RemoteError, during: SyncPhase)
    /// This device's store failed.
    case replica(String)
    /// The state that sync saved on this device is damaged.
    case format(FormatError)
    /// The saved member chain fails verification.
    case trust(TrustError)
    /// The remote has no member chain for the vault.
    case noMembers
    /// This device's user is not a member, or no longer is.
    case notMember
    /// The vault's keys cannot be opened, for this reason.
    case keys(TrustError)
    /// The replica has applied other commits than those it was given.
    case otherVersions
    /// This device's changes do not fit into a commit.
    case tooLarge(byteCount: Int)
    /// The remote has a different commit in this device's log: the profile was copied or restored.
    ///
    /// A new log is needed.
    case ownLogForked(ForkedLog)
    /// This device's log has ended, because its author's right has.
    ///
    /// A new log is needed.
    case ownLogEnded(sequence: UInt64)
    /// The remote has a commit of this device that names links or keys that this device does not know.
    ///
    /// The profile was restored, and the remote does not show everything that it did before. Nothing is sent
    /// until it does.
    case ownLogAhead(sequence: UInt64)
    /// The vault has more logs than a commit can name.
    case tooManyLogs
    /// A change of the members failed, or this user is no longer a member.
    case membership(MembershipError)
    /// This device has not applied all commits at the remote, so it does not know all that has to be there.
    case behind
    /// So many commits are missing that this number of others was not looked for.
    case tooManyMissing(skipped: Int)
    /// The task was cancelled.
    case cancelled

    /// A failure of the remote, unless the task was cancelled.
    init(_ error: RemoteError, during phase: SyncPhase) {
        self = error == .cancelled ? .cancelled : .remote(error, during: phase)
    }

    init(_ error: SealingError) {
        self =
            switch error {
            case .otherVersions: .otherVersions
            case .tooLarge(let byteCount): .tooLarge(byteCount: byteCount)
            case .format(let error): .format(error)
            }
    }
}

extension SyncError: LoggedError {
    package var logText: LogText {
        switch self {
        case .remote(let error, let phase): "the remote, while \(phase): \(error)"
        case .replica: "this device's store"
        case .format(let error): "\(kindOf: error)"
        case .trust(let error): "\(kindOf: error)"
        case .noMembers: "no member chain"
        case .notMember: "not a member"
        case .keys(let error): "keys: \(kindOf: error)"
        case .otherVersions: "other versions"
        case .tooLarge(let byteCount): "a commit of \(byteCount) bytes is too large"
        case .ownLogForked: "this device's log has forked"
        case .ownLogEnded(let sequence): "this device's log ended at \(sequence)"
        case .ownLogAhead(let sequence): "this device's log is ahead at \(sequence)"
        case .tooManyLogs: "too many logs"
        case .membership(let error): "members: \(kindOf: error)"
        case .behind: "behind the remote"
        case .tooManyMissing(let count): "too many commits are missing to look for \(count) others"
        case .cancelled: "cancelled"
        }
    }
}

extension SyncError {
    /// Whether the remote is full.
    var isRemoteFull: Bool {
        if case .remote(.full, _) = self { true } else { false }
    }
}

/// What sync is doing.
package enum SyncPhase: String, Sendable, LogWord {
    /// Nothing: everything is sent and fetched.
    case idle
    /// Fetching links and keys.
    case members
    /// Looking for commits.
    case looking
    /// Fetching, checking and applying commits.
    case fetching
    /// Putting packs and commits.
    case sending
    /// Making, checking or applying a checkpoint, or deleting what it covers.
    case checkpoint
    /// Rebuilding all facts.
    case rebuilding
    /// Deleting packs that nothing refers to.
    case deleting
}

extension SyncError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .remote(let error, let phase): "\(phase.rawValue): \(error)"
        case .replica(let reason): "the vault's store on this device failed: \(reason)"
        case .format(let error): "the state that sync saved on this device is damaged: \(error.words)"
        case .trust(let error): "the members saved on this device fail verification: \(error)"
        case .noMembers: "the remote does not have this vault"
        case .notMember: "you are not a member of this vault"
        case .keys(let error): "the vault's keys cannot be opened: \(error)"
        case .otherVersions: "the vault's store on this device has applied other commits than sync gave it"
        case .tooLarge(let count):
            "this device's changes make a commit of \(ByteText.of(Int64(count))), which is too long"
        case .ownLogForked(let fork):
            """
            this device's commit \(fork.dot.sequence) is \(fork.known), but \(fork.other) at the remote: the \
            profile was copied or restored
            """
        case .ownLogEnded(let sequence):
            "this device's commits after \(sequence) do not count for other devices"
        case .ownLogAhead(let sequence):
            """
            the remote has commit \(sequence) of this device, but not the members or keys that it names: \
            this device sends nothing until the remote shows them
            """
        case .tooManyLogs: "the vault has more logs than a commit or checkpoint can name"
        case .membership(let error): error.description
        case .behind:
            """
            this device has not applied all commits at the remote. Run “coffer sync” first, or see “coffer \
            status”
            """
        case .tooManyMissing(let count):
            "so many are missing that \(count) other\(count == 1 ? " was" : "s were") not looked for"
        case .cancelled: "it was cancelled"
        }
    }
}
