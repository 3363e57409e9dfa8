internal import CofferFormat

/// The rows with which a value was saved last, so that the changes to save are always the difference.
struct SavedRows: Equatable, Sendable {
    private var rows: [KeptRow.Key: [UInt8]] = [:]

    /// Records a row that was restored.
    mutating func restored(_ row: KeptRow) { rows[row.key] = row.value }

    /// The changes that save other rows, which count as saved from then on.
    mutating func changes(to new: [KeptRow.Key: [UInt8]]) -> [KeptChange] {
        var changes: [KeptChange] = []
        for (key, value) in new where rows[key] != value { changes.append(KeptChange(key, value)) }
        for key in rows.keys where new[key] == nil { changes.append(KeptChange(key, nil)) }
        rows = new
        return changes
    }
}
