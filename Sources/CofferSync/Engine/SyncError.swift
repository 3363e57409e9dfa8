internal import CofferFacts
package import CofferFormat
package import CofferRemote
package import CofferTrust

/// Why sync does not go on.
package enum SyncError: Error, Equatable {
    /// The remote failed; said while doing what.
    case remote(RemoteError, during: SyncPhase)
    /// This device's store failed.
    case replica(String)
    /// What was saved is not what it should be.
    case format(FormatError)
    /// The member chain that was saved does not verify.
    case trust(TrustError)
    /// The vault has no member chain at this remote.
    case noMembers
    /// This device's user is no member, or not any more.
    case notMember
    /// The keys of the vault cannot be opened; says why.
    case keys(TrustError)
    /// The replica has applied other commits than it was given.
    case otherVersions
    /// The changes of this device do not fit into a commit.
    case tooLarge(byteCount: Int)
    /// This device's log has a commit at the remote that this device does not know: the profile was copied or put back.
    /// A new log is needed.
    case ownLogForked(ForkedLog)
    /// This device's log ended: its author's right did. A new log is needed.
    case ownLogEnded(sequence: UInt64)
    /// The remote has a commit of this device that names links or keys which are not here: the profile was put back, and
    /// the remote does not show all that it did. Nothing is sent before it does.
    case ownLogAhead(sequence: UInt64)
    /// The vault has more logs than a commit can name.
    case tooManyLogs
    /// The members are not changed, or this user is none any more.
    case membership(MembershipError)
    /// The task was cancelled.
    case cancelled

    init(_ error: SealingError) {
        self =
            switch error {
            case .otherVersions: .otherVersions
            case .tooLarge(let byteCount): .tooLarge(byteCount: byteCount)
            case .format(let error): .format(error)
            }
    }
}

extension SyncError {
    /// Whether the remote has no room for what is to be sent.
    var isRemoteFull: Bool {
        if case .remote(.full, _) = self { true } else { false }
    }
}

/// What sync is doing.
package enum SyncPhase: String, Sendable {
    /// Nothing: all is sent and fetched.
    case idle
    /// Fetches links and keys.
    case members
    /// Looks for commits.
    case looking
    /// Fetches, checks and applies commits.
    case fetching
    /// Puts packs and commits.
    case sending
    /// Makes, checks or takes a checkpoint, or deletes what it covers.
    case checkpoint
    /// Takes all facts anew.
    case rebuilding
}

extension SyncError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .remote(let error, let phase): "\(phase.rawValue): \(error)"
        case .replica(let reason): "the vault's store on this device failed: \(reason)"
        case .format(let error): "what sync has kept on this device is damaged: \(error.words)"
        case .trust(let error): "the members that were kept do not verify: \(error)"
        case .noMembers: "the remote does not have this vault"
        case .notMember: "you are not a member of this vault"
        case .keys(let error): "the vault's keys cannot be opened: \(error)"
        case .otherVersions: "the vault's store on this device has applied other commits than it was given"
        case .tooLarge(let count):
            "the changes of this device make a commit of \(count) bytes, which is too long"
        case .ownLogForked(let fork):
            """
            this device's commit \(fork.dot.sequence) is \(fork.known), and \(fork.other) at the remote: \
            its profile was copied or put back
            """
        case .ownLogEnded(let sequence): "this device's commits behind \(sequence) do not count"
        case .ownLogAhead(let sequence):
            """
            the remote has commit \(sequence) of this device, but not the members or keys that it names: nothing is \
            sent until the remote shows them
            """
        case .tooManyLogs: "the vault has too many logs"
        case .membership(let error): error.description
        case .cancelled: "it was cancelled"
        }
    }
}
