internal import CofferFormat
internal import CofferRemote

/// A listing of all logs, as it arrives page by page.
///
/// It needs only names after the known commits: about one page for each log, and one more.
struct LogListing: Sendable {
    /// The most unknown logs that are examined at a time; the others get their turn later.
    private static let newLogCountMax = 1024

    /// Unknown logs, in the order of their names, as many as are examined at a time.
    private struct NewLogs {
        private(set) var lastCommits: [LogID: UInt64] = [:]
        private(set) var last: String?

        mutating func add(_ dot: Dot, _ name: RemoteName) {
            if lastCommits[dot.log] == nil {
                guard lastCommits.count < newLogCountMax else { return }
                last = name.parent.text
            }
            lastCommits[dot.log] = max(lastCommits[dot.log] ?? 0, dot.sequence)
        }
    }

    private let logs: KnownLogs
    private let layout: RemoteLayout
    private var known: [LogID: UInt64] = [:]
    private var (new, newBefore) = (NewLogs(), NewLogs())
    /// The listing of this device's own log; nil if only its end is wanted.
    private(set) var own: OwnLogListing?

    init(_ logs: KnownLogs, _ layout: RemoteLayout, own: OwnLogListing?) {
        (self.logs, self.layout, self.own) = (logs, layout, own)
    }

    /// Adds a page.
    ///
    /// - Returns: How the listing continues.
    mutating func add(_ entries: [RemotePage.Entry]) -> ListingStep {
        var last: Dot?
        for entry in entries {
            let name = entry.name
            guard let dot = name.commit else { continue }
            if logs[dot.log] == nil {
                // Logs that have ended, or that wait until others name them, take no turn from others.
                if logs.stops[dot.log] != nil { continue }
                if let turn = logs.newLogTurn, name.parent.text <= turn {
                    newBefore.add(dot, name)
                } else {
                    new.add(dot, name)
                }
                continue
            }
            last = dot
            known[dot.log] = max(known[dot.log] ?? 0, dot.sequence)
            if dot.log == logs.own { own?.add(dot.sequence, entry.byteCount) }
        }
        // Applied commits of this log need not be listed, except the last one, to see that it is there.
        guard let last, let head = logs[last.log]?.head.sequence else { return .next }
        // Now and then this device's whole log is listed.
        let whole = last.log == logs.own ? own?.covered : nil
        let wanted = whole.map { min($0, head) + 1 } ?? head
        guard wanted > last.sequence + 1 else { return .next }
        return .behind(layout.commit(last.log, wanted - 1))
    }

    /// Whether all unknown logs have had their turn.
    private var isTurnOver: Bool { new.last == nil }

    /// The last commit that is listed of each log that is known, or that has its turn.
    var lastCommits: [LogID: UInt64] {
        known.merging((isTurnOver ? newBefore : new).lastCommits) { known, _ in known }
    }

    /// The last unknown log that has its turn: logs that never become known must not keep others from being
    /// examined.
    var newLogTurn: String? { isTurnOver ? newBefore.last : new.last }
}

extension RemoteName {
    /// The place of the commit that has the name; nil for another object.
    var commit: Dot? {
        let segments = segments
        guard segments.count == 5, let log = LogID(hexadecimal: String(segments[3])),
            let sequence = RemoteLayout.sequence(of: self), 1...Dot.sequenceMax ~= sequence
        else { return nil }
        return Dot(log: log, sequence: sequence)
    }
}
