internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// What the tree of a vault knows of the history that it records.
///
/// The states of a vault that are kept are called moments. A moment is the state that a commit left, up to the first
/// change after it. The changes of about a minute share one: what they change is kept as it was at the moment, once.
struct HistoryRecorder {
    /// The length of time whose changes share a moment, in nanoseconds.
    static let spacing: Int64 = 60_000_000_000

    /// What the index has once for the history.
    var row: HistoryRow
    /// The last moment; nil if there is none.
    var moment: MomentRow?
    /// Whether the next change begins a moment; the first one after the vault was opened does.
    var isDue = true
    /// Whether anything has changed since the last commit, but for what no user changes.
    var hasChanges = false
    /// The numbers that the next item and the next entry had at the last commit.
    var committed: (item: Int64, cookie: Int64)
    /// The versions that end with the last moment and are in memory, by their items.
    var versions: [Int64: Int64] = [:]
    /// The device whose changes are being made.
    var author = History.Author.thisDevice
    /// The devices that are recorded to have changed items in the time of the last moment, by item.
    var authors: [Int64: Set<History.Author>] = [:]
    /// The moments that somebody looks at, and how many do.
    var viewed: [Int64: Int] = [:]

    init(_ index: Index) throws(FileSystemError) {
        row = try index.history()
        moment = try index.moments().last
        committed = index.nextNumbers
    }

    /// Whether states are kept; false while one is only held for a view, in a vault that keeps none.
    var isKept: Bool { row.kept != 0 }

    /// The state that the last commit left, as a moment; it is the present one as long as nothing changes.
    var present: MomentRow {
        MomentRow(
            number: row.last + 1, since: row.changed, begun: .max, nextItem: committed.item,
            nextCookie: committed.cookie)
    }

    /// Whether the changes of a moment have had their time; a clock that was set back ends it, too.
    static func isOver(_ moment: MomentRow, at time: Int64) -> Bool {
        time < moment.begun || time - moment.begun >= spacing
    }

    /// Notes a commit.
    mutating func noteCommit(_ numbers: (item: Int64, cookie: Int64), at time: Int64) {
        committed = numbers
        hasChanges = false
        isDue = isDue || moment.map { Self.isOver($0, at: time) } ?? true
    }
}
