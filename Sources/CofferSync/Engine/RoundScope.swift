internal import CofferFormat
internal import CofferRemote

/// What a round looks at; of the rest it is believed that nothing is new.
///
/// What was changed here is sent in every round.
package struct RoundScope: Equatable, Sendable {
    /// Whether the member chain may have new links.
    var looksForMembers = false
    /// Whether all logs are listed.
    var listsLogs = false
    /// Whether the next commit of every log is asked for, listed or not: listings lag behind.
    var asksAllLogs = false
    /// Logs of which the next commit is asked for.
    var logs: Set<LogID> = []
    /// Whether others are told at once what was applied.
    var acknowledges = false

    /// Only what was changed here.
    package static let changes = RoundScope()
    /// Everything.
    package static let all = RoundScope(
        looksForMembers: true, listsLogs: true, asksAllLogs: true, acknowledges: true)
    /// What a look now and then is for, with as few requests as can be.
    static let poll = RoundScope(looksForMembers: true, listsLogs: true, acknowledges: true)
    /// What was applied is told to others, in a commit of its own if need be.
    static let acknowledgement = RoundScope(acknowledges: true)

    /// Whether commits are looked for.
    var looksForCommits: Bool { listsLogs || asksAllLogs || !logs.isEmpty }

    /// Both.
    mutating func formUnion(_ other: RoundScope) {
        looksForMembers = looksForMembers || other.looksForMembers
        listsLogs = listsLogs || other.listsLogs
        asksAllLogs = asksAllLogs || other.asksAllLogs
        logs.formUnion(other.logs)
        acknowledges = acknowledges || other.acknowledges
    }

    /// What may be new where the remote has told of a change; nil if that is nothing for a round.
    ///
    /// - Parameter own: This device's log: what changes there was put by this device.
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
