package import CofferFacts
package import CofferFormat
package import CofferTrust

/// Why a commit is not applied.
package enum CommitProblem: Error, Equatable {
    // Nobody can be blamed but the storage: it is fetched again later.

    /// The storage says that it is longer than any commit may be; it was not read.
    case tooLong(byteCount: Int)
    /// A newer Coffer wrote it.
    case newerVersion(found: UInt32, supported: UInt32)
    /// It says something that only a newer Coffer knows.
    case newerContent(field: String, found: UInt32)
    /// It is no commit: cut short, or something else.
    case damaged(FormatError)
    /// It is a commit of another vault, log or number.
    case elsewhere
    /// No member has sealed it, or it is not signed by who it says.
    case notAuthentic

    // It may come right when more is known.

    /// It is sealed under a key that this device does not have yet.
    case unknownEpoch(Epoch)
    /// It names a link of the member chain that this device does not have yet.
    case unknownMembers(LinkHead)
    /// It begins a log, of which its author has enough, or the vault.
    case tooManyLogs(IdentityID)
    /// It is in somebody else's log, and in the way of what belongs there.
    case otherAuthor(IdentityID)

    // The author has signed it; everybody comes to the same answer.

    /// The author may not do this.
    case right(CommitRefusal)
    /// It is sealed under another epoch than that of the members that it names.
    case wrongEpoch(Epoch, expected: Epoch)
    /// What was signed is no commit.
    case malformed(FormatError)
    /// It says that it changes something and does not, or the other way round.
    case wrongClaim
    /// Its clock is behind that of the commit in front of it.
    case clockGoesBack
    /// It names fewer links of the member chain than the commit in front of it.
    case membersGoBack
    /// It names commits of its own log among the others'.
    case namesOwnLog
    /// It introduces its author, and is not the first; or it is the first, and does not.
    case wrongIntroduction
    /// It says what no fact can say.
    case facts(FactRefusal)

    /// Two commits of one number, both signed by the author.
    case forked(ForkedLog)

    /// Whether the author is to blame, and the log ends here for everybody.
    package var isFinal: Bool {
        switch self {
        case .tooLong, .newerVersion, .newerContent, .damaged, .elsewhere, .notAuthentic: false
        case .unknownEpoch, .unknownMembers, .tooManyLogs, .otherAuthor, .forked: false
        // The link may be one of another side of a fork.
        case .right(.otherHead): false
        case .right, .wrongEpoch, .malformed, .wrongClaim, .clockGoesBack, .membersGoBack, .namesOwnLog,
            .wrongIntroduction, .facts:
            true
        }
    }

    /// Whether a commit in a device's own log may be one that the device has made, and does not know any more.
    var mayBeForgotten: Bool {
        switch self {
        case .unknownEpoch, .unknownMembers, .newerContent: true
        default: false
        }
    }
}

/// Two histories of one log.
package struct ForkedLog: Hashable, Sendable {
    /// The commit at which they differ, or the first one that is known to be on the other side.
    package let dot: Dot
    /// The commit that is known here.
    package let known: CommitHash
    /// The other one.
    package let other: CommitHash
    /// Which commit names the other one; nil if the storage shows it.
    package let witness: Dot?
    /// Whether the log's author has signed for both; else somebody else says so, and may lie.
    package var isProven: Bool { witness.map { $0.log == dot.log } ?? true }

    package init(dot: Dot, known: CommitHash, other: CommitHash, witness: Dot?) {
        self.dot = dot
        self.known = known
        self.other = other
        self.witness = witness
    }
}

extension CommitProblem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLong(let count): "is \(count) bytes long, more than a commit may be"
        case .newerVersion(let found, _): "has format version \(found): a newer Coffer is needed"
        case .newerContent(let field, let found): "has \(field) \(found): a newer Coffer is needed"
        case .damaged(let error): "is damaged: \(error.words)"
        case .elsewhere: "is a commit of another vault, log or number"
        case .notAuthentic: "is not signed by its author"
        case .unknownEpoch(let epoch): "is sealed under key \(epoch.number), which is not here yet"
        case .unknownMembers(let head): "names link \(head.sequence) of the members, which is not here yet"
        case .tooManyLogs: "begins a log, and there are too many"
        case .right(let refusal): "was not allowed: \(refusal.words)"
        case .wrongEpoch(let found, let expected):
            "is sealed under key \(found.number) instead of \(expected.number)"
        case .malformed(let error): "says nothing sensible: \(error.words)"
        case .otherAuthor(let author): "is by somebody else, identity \(author)"
        case .wrongClaim: "does something else than it says"
        case .clockGoesBack: "has a clock that goes back"
        case .membersGoBack: "names older members than the one in front of it"
        case .namesOwnLog: "names its own log"
        case .wrongIntroduction: "introduces its author in the wrong place"
        case .facts(let refusal): "says what cannot be: \(refusal.words)"
        case .forked(let fork): "is there twice: \(fork.known) and \(fork.other)"
        }
    }
}
