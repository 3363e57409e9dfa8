internal import CofferFormat
internal import CofferRemote
internal import CofferSystem

/// What a round looks at; it assumes that nothing else is new.
///
/// Every round sends local changes.
package struct RoundScope: Equatable, Sendable {
    /// Whether to look for new links of the member chain.
    var looksForMembers = false
    /// Whether to list all logs.
    var listsLogs = false
    /// Whether to ask for the next commit of every log, listed or not, since listings may lag.
    var asksAllLogs = false
    /// Logs whose next commit to ask for.
    var logs: Set<LogID> = []
    /// Whether to acknowledge applied commits, with a commit of its own if need be.
    var acknowledges = false

    /// Only local changes.
    package static let changes = RoundScope()
    /// Everything.
    package static let all = RoundScope(
        looksForMembers: true, listsLogs: true, asksAllLogs: true, acknowledges: true)
    /// An occasional look, with as few requests as possible.
    static let poll = RoundScope(looksForMembers: true, listsLogs: true, acknowledges: true)
    /// Acknowledges applied commits, with a commit of its own if need be.
    static let acknowledgement = RoundScope(acknowledges: true)

    /// Whether to look for commits.
    var looksForCommits: Bool { listsLogs || asksAllLogs || !logs.isEmpty }

    /// What begins a round of this scope, for the debug log.
    var logText: LogText {
        switch self {
        case .changes: "local changes"
        case .all: "everything"
        case .poll: "a look"
        case .acknowledgement: "an acknowledgement"
        default: "changes in \(logs.count) logs"
        }
    }

    /// Adds what another scope looks at.
    mutating func formUnion(_ other: RoundScope) {
        looksForMembers = looksForMembers || other.looksForMembers
        listsLogs = listsLogs || other.listsLogs
        asksAllLogs = asksAllLogs || other.asksAllLogs
        logs.formUnion(other.logs)
        acknowledges = acknowledges || other.acknowledges
    }

    /// The scope for a change that the remote has announced; nil if no round is needed.
    ///
    /// - Parameter own: This device's log; changes in it are this device's own.
    static func change(below prefix: RemotePrefix, _ layout: RemoteLayout, own: LogID) -> RoundScope? {
        guard layout.prefix.contains(prefix), prefix != layout.prefix else { return .all }
        if layout.packs.contains(prefix) || layout.checkpoints.contains(prefix) { return nil }
        guard layout.logs.contains(prefix) else { return RoundScope(looksForMembers: true) }
        let segments = prefix.segments
        guard segments.count == 4, let log = LogID(hexadecimal: String(segments[3])) else {
            return RoundScope(listsLogs: true)
        }
        return log == own ? nil : RoundScope(logs: [log])
    }
}
