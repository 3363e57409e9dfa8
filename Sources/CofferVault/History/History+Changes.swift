package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Who changed what.
extension History {
    private static let pageCount = 1024

    /// Who changed anything in the time of each state that is kept, by its number.
    package func authors() throws(FileSystemError) -> [Int64: Set<Author>] {
        let moments = try vault.reading { state throws(FileSystemError) in
            try state.index.moments().map(\.number)
        }
        var authors: [Int64: Set<Author>] = [:]
        var recorded: Set<[Int64]> = []
        try forEachAuthor { row in
            recorded.insert([row.moment, row.item])
            if let moment = moments.last(notAfter: row.moment) {
                authors[moment, default: []].insert(Author(row.log))
            }
        }
        try forEachVersion { row in
            guard !recorded.contains([row.until, row.item]), let moment = moments.last(notAfter: row.until)
            else { return }
            authors[moment, default: []].insert(.thisDevice)
        }
        return authors
    }

    /// Who changed an item in the time of the states from one on, up to another.
    package func authors(
        of item: Int64, from first: State, upTo end: State?
    ) throws(FileSystemError) -> Set<Author> {
        try vault.reading { state throws(FileSystemError) in
            let range = first.number..<(end?.number ?? .max)
            let rows = try state.index.authors(of: item, in: range)
            var authors = Set(rows.map { Author($0.log) })
            for version in try state.index.versions(of: item, from: first.number)
            where range.contains(version.until) && !rows.contains(where: { $0.moment == version.until }) {
                if try Self.isSeen(version, in: state) { authors.insert(.thisDevice) }
            }
            return authors
        }
    }

    /// Whether anybody saw what ended a version: the item had a name before, or has one now.
    private static func isSeen(
        _ version: VersionRow, in state: borrowing VaultState
    ) throws(FileSystemError) -> Bool {
        if version.links > 0 { return true }
        return try state.tree.row(version.item).map { $0.links > 0 } ?? false
    }

    /// Runs `body` with all that is recorded of who changed what.
    func forEachAuthor(_ body: (AuthorRow) -> Void) throws(FileSystemError) {
        var place: AuthorRow?
        repeat {
            let rows = try vault.reading { state throws(FileSystemError) in
                try state.index.authors(in: 0..<Int64.max, after: place, limit: Self.pageCount)
            }
            for row in rows { body(row) }
            place = rows.count < Self.pageCount ? nil : rows.last
        } while place != nil
    }

    /// Runs `body` with all versions, but for those that only say that a removed item went for good.
    func forEachVersion(_ body: (VersionRow) -> Void) throws(FileSystemError) {
        var place: (item: Int64, until: Int64) = (0, 0)
        while true {
            let (rows, seen) = try vault.reading { state throws(FileSystemError) in
                let rows = try state.index.versions(after: place.item, place.until, limit: Self.pageCount)
                var seen: [VersionRow] = []
                for row in rows where try Self.isSeen(row, in: state) { seen.append(row) }
                return (rows, seen)
            }
            for row in seen { body(row) }
            guard rows.count == Self.pageCount, let last = rows.last else { return }
            place = (last.item, last.until)
        }
    }
}

extension [Int64] {
    /// The last number that is not after another; the numbers ascend.
    func last(notAfter number: Int64) -> Int64? {
        prefix(partitioningIndex { $0 > number }).last
    }
}
