internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Letting go of states whose time has come: the older, the fewer are kept.
extension History {
    private static let hour: Int64 = 3_600_000_000_000
    private static let day = 24 * hour, week = 7 * day
    /// The least time between two looks for such states, in nanoseconds.
    private static let lookSpacing = hour / 6
    /// The number of rows that are moved or removed at a time.
    private static let batchCount = 256

    /// Removes what only states need whose time has come, if that was not looked for lately.
    func thinIfDue() throws(FileSystemError) {
        let time = Clock.realTime
        let isDue = vault.thinned.withLock { last in
            guard abs(time - last) >= Self.lookSpacing else { return false }
            last = time
            return true
        }
        if isDue { try thin(at: time) }
    }

    /// Removes what only states need whose time has come.
    func thin(at time: Int64) throws(FileSystemError) {
        let kept = try vault.reading { state throws(FileSystemError) -> Set<Int64>? in
            guard state.index.hasHistory else { return nil }
            return Self.kept(try state.index.moments(), for: try state.index.history().kept, at: time)
        }
        if let kept { try keep(only: kept) }
    }

    /// Removes all moments but some, those that are looked at, those of snapshots, and the last one; and what only the
    /// removed ones needed.
    ///
    /// Works in steps that each leave the vault consistent. Stopped at any moment, the next call does the rest.
    func keep(only kept: Set<Int64>) throws(FileSystemError) {
        try vault.changing { state throws(FileSystemError) in
            let recorder = state.tree.history
            let kept = kept.union(try state.index.snapshots().map(\.moment))
            for moment in try state.index.moments() where !kept.contains(moment.number) {
                // The last one still gets versions.
                if moment == recorder?.moment || recorder?.viewed[moment.number] != nil { continue }
                try state.index.remove(moment)
            }
        }
        try removeVersions()
        try removeAuthors()
    }

    /// Removes what is recorded of changes before all moments.
    private func removeAuthors() throws(FileSystemError) {
        var isDone = false
        while !isDone, !vault.upkeep.isStopped {
            isDone = try vault.changing { state throws(FileSystemError) in
                let first = try state.index.moments().first?.number ?? .max
                let rows = try state.index.authors(in: 0..<first, limit: Self.batchCount)
                for row in rows { try state.index.remove(row) }
                return rows.count < Self.batchCount
            }
            vault.upkeep.pause()
        }
    }

    /// The moments that are kept: all of the last day, the last of each hour of a week, of each day of a quarter, and of
    /// each week before.
    ///
    /// - Parameters:
    ///   - moments: Ascending; the last one always stays.
    ///   - seconds: As in `HistoryRow.kept`.
    static func kept(_ moments: [MomentRow], for seconds: Int64, at time: Int64) -> Set<Int64> {
        guard seconds != 0, let last = moments.last else { return [] }
        var kept: Set = [last.number]
        var spans: Set<[Int64]> = []
        for moment in moments.reversed() {
            let age = max(0, time - moment.begun)
            if seconds > 0, age / 1_000_000_000 > seconds { break }
            let span = age < day ? 1 : age < week ? hour : age < 13 * week ? day : week
            if spans.insert([span, moment.begun / span]).inserted { kept.insert(moment.number) }
        }
        return kept
    }

    /// Removes all versions that no moment needs for itself.
    private func removeVersions() throws(FileSystemError) {
        var place: (item: Int64, until: Int64) = (0, 0)
        var previous: VersionRow?
        var removed = 0
        while !vault.upkeep.isStopped {
            let rows = try vault.reading { state throws(FileSystemError) in
                try state.index.versions(after: place.item, place.until, limit: Self.batchCount)
            }
            for row in rows {
                place = (row.item, row.until)
                if previous?.item != row.item { previous = nil }
                if try isNeeded(row, after: previous) {
                    previous = row
                    continue
                }
                try remove(row, into: previous)
                removed += 1
                if removed % Self.batchCount == 0 {
                    try vault.commitIndex()
                    try vault.moveLog()
                }
            }
            if rows.count < Self.batchCount { return }
        }
    }

    /// Whether a moment needs a version for itself, and not only for parts that an earlier version does not have.
    ///
    /// If none does, none ever will: only later moments begin.
    private func isNeeded(_ row: VersionRow, after earlier: VersionRow?) throws(FileSystemError) -> Bool {
        try vault.reading { state throws(FileSystemError) in
            try state.index.hasMoment(after: earlier?.until ?? 0, upTo: row.until)
        }
    }

    /// Removes a version, some rows at a time.
    ///
    /// - Parameter earlier: The version before it, which gets those parts that it does not say anything about.
    private func remove(_ row: VersionRow, into earlier: VersionRow?) throws(FileSystemError) {
        var isGone = false
        while !isGone, !vault.upkeep.isStopped {
            isGone = try vault.changing { state throws(FileSystemError) in
                let version = try state.tree.item(row.version)
                let target = try earlier.map { row throws(FileSystemError) in
                    try state.tree.item(row.version)
                }
                return try Self.remove(row, version, into: target, after: earlier, from: &state)
            }
            vault.upkeep.pause()
        }
    }

    /// Removes up to about `batchCount` rows of a version, and the version itself with the last ones.
    ///
    /// - Returns: Whether the version is gone.
    private static func remove(
        _ row: VersionRow, _ version: CachedItem, into target: CachedItem?, after earlier: VersionRow?,
        from state: inout VaultState
    ) throws(FileSystemError) -> Bool {
        let number = version.row.number
        let entries = try state.index.entries(in: number, after: 0, limit: batchCount)
        for listed in entries {
            guard var entry = try state.index.entry(listed.name, in: number) else { continue }
            try state.index.remove(entry)
            guard let target, try state.index.entry(entry.name, in: target.row.number) == nil else {
                continue
            }
            entry.parent = target.row.number
            try state.index.insert(entry)
        }
        let extents = try state.index.extents(after: number, -1, limit: batchCount).filter {
            $0.item == number
        }
        for extent in extents {
            try state.index.remove(extent)
            version.row.allocated -= extent.length
            let range = extent.offset..<extent.end
            for part in try target.map({ target throws(FileSystemError) in
                try state.give(extent, range, to: target)
            }) ?? [range] {
                try state.drop(extent, part)
            }
        }
        state.tree.removes = true
        state.tree.touch(version: version)
        guard entries.count < batchCount, extents.count < batchCount else { return false }
        for hole in try state.index.holes(of: number, overlapping: 0..<Int64.max) {
            try state.index.removeHole(hole, of: number)
            if let target { try state.giveHoles(in: hole, to: target) }
        }
        let isHeir =
            version.row.flags.contains(.ownsAttributes)
            && target?.row.flags.contains(.ownsAttributes) == false
        for (name, value) in try state.index.attributes(of: number) {
            try state.index.removeAttribute(name, of: number, value: value)
            guard let target, isHeir else { continue }
            try state.index.setAttribute(name, of: target.row.number, to: value, replacing: nil)
        }
        if let target, isHeir { target.row.flags.insert(.ownsAttributes) }
        if let target { state.tree.touch(version: target) }
        if let earlier { try keepAuthor(of: row, after: earlier, in: &state) }
        try state.index.remove(row)
        try state.tree.erase(version)
        if state.tree.history?.versions[row.item] == number { state.tree.history?.versions[row.item] = nil }
        return true
    }

    /// Records that this device ended a version that goes, where the one before it is said to be another device's.
    private static func keepAuthor(
        of row: VersionRow, after earlier: VersionRow, in state: inout VaultState
    ) throws(FileSystemError) {
        let rows = try state.index.authors(of: row.item, in: earlier.until..<row.until + 1)
        guard rows.contains(where: { $0.moment == earlier.until }),
            !rows.contains(where: { $0.moment == row.until })
        else { return }
        try state.index.insert(AuthorRow(moment: row.until, item: row.item, log: nil, isCreation: false))
    }
}
