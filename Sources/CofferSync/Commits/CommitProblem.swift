package import CofferFacts
package import CofferFormat
package import CofferTrust
internal import CofferSystem

/// Why a commit is not applied.
package enum CommitProblem: Error, Equatable {
    // Only the storage may be at fault: the commit is fetched again later.

    /// The storage reports more bytes than a commit may have; it was not read.
    case tooLong(byteCount: Int)
    /// A newer Coffer wrote it.
    case newerVersion(found: UInt32, supported: UInt32)
    /// It contains data that only a newer Coffer knows.
    case newerContent(field: String, found: UInt32)
    /// It is not a commit: it is cut short, or something else.
    case damaged(FormatError)
    /// It is a commit of another vault, log or number.
    case elsewhere
    /// No member has sealed it, or its signature does not match its author.
    case notAuthentic

    // It may become valid once more is known.

    /// It is sealed under an epoch whose key this device does not have yet.
    case unknownEpoch(Epoch)
    /// It names a link of the member chain that this device does not have yet.
    case unknownMembers(LinkHead)
    /// It begins a log, and its author or the vault has too many.
    case tooManyLogs(IdentityID)
    /// Another member has put it in an author's log, in the place of the next commit.
    case otherAuthor(IdentityID)

    // The author has signed it; every device reaches the same verdict.

    /// The author has no right to it.
    case right(CommitRefusal)
    /// It is sealed under another epoch than that of the link that it names.
    case wrongEpoch(Epoch, expected: Epoch)
    /// The signed content is not a commit.
    case malformed(FormatError)
    /// It claims to change something and does not, or the other way round.
    case wrongClaim
    /// Its clock is behind that of the commit before it.
    case clockGoesBack
    /// It names fewer links of the member chain than the commit before it.
    case membersGoBack
    /// It names commits of its own log among those of others.
    case namesOwnLog
    /// It introduces its author and is not the first, or it is the first and does not.
    case wrongIntroduction
    /// Its facts are invalid.
    case facts(FactRefusal)

    /// Two commits have one number, both signed by the author.
    case forked(ForkedLog)

    /// Whether the author is at fault, so that the log ends here on every device.
    package var isFinal: Bool {
        switch self {
        case .tooLong, .newerVersion, .newerContent, .damaged, .elsewhere, .notAuthentic: false
        case .unknownEpoch, .unknownMembers, .tooManyLogs, .otherAuthor, .forked: false
        // The link may be on the other side of a fork.
        case .right(.otherHead): false
        case .right, .wrongEpoch, .malformed, .wrongClaim, .clockGoesBack, .membersGoBack, .namesOwnLog,
            .wrongIntroduction, .facts:
            true
        }
    }

    /// Whether a commit in this device's own log may be one that the device made and no longer knows.
    var mayBeForgotten: Bool {
        switch self {
        case .unknownEpoch, .unknownMembers, .newerContent: true
        default: false
        }
    }
}

/// Two histories of one log.
package struct ForkedLog: Hashable, Sendable {
    /// The commit at which they differ, or the first one known to be on the other side.
    package let dot: Dot
    /// The hash of the commit known here.
    package let known: CommitHash
    /// The hash of the other commit.
    package let other: CommitHash
    /// The commit that names the other one; nil if the storage shows it.
    package let witness: Dot?
    /// Whether the log's author has signed both; otherwise another author claims so, who may lie.
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
        case .tooLong(let count): "has \(ByteText.of(Int64(count))), which is too much for a commit"
        case .newerVersion(let found, _): "has format version \(found), which needs a newer Coffer"
        case .newerContent(let field, let found): "has \(field) \(found), which needs a newer Coffer"
        case .damaged(let error): "is damaged: \(error.words)"
        case .elsewhere: "belongs to another vault or log, or has another number"
        case .notAuthentic: "is not signed by its author"
        case .unknownEpoch(let epoch):
            "is sealed under key \(epoch.number), which this device does not have yet"
        case .unknownMembers(let head):
            "names link \(head.sequence) of the members, which this device does not have yet"
        case .tooManyLogs: "begins a log, and the vault or its author has too many"
        case .right(let refusal): "was not allowed: \(refusal.words)"
        case .wrongEpoch(let found, let expected):
            "is sealed under key \(found.number) instead of \(expected.number)"
        case .malformed(let error): "is malformed, though signed by its author: \(error.words)"
        case .otherAuthor(let author): "is not by the log's owner, but by identity \(author)"
        case .wrongClaim: "does not do what it claims"
        case .clockGoesBack: "has an earlier time than the commit before it"
        case .membersGoBack: "names an older state of the members than the commit before it"
        case .namesOwnLog: "names its own log among the others"
        case .wrongIntroduction: "introduces its author in the wrong place"
        case .facts(let refusal): "is invalid: \(refusal.words)"
        case .forked(let fork): "exists in two versions: \(fork.known) and \(fork.other)"
        }
    }
}
