internal import CofferFormat

/// Statements of an index that are prepared once and run often, as the cases of an enumeration.
protocol IndexStatement: CaseIterable, RawRepresentable<Int> {
    /// The text for SQLite.
    var sql: String { get }
}

/// The prepared statements of one kind; each is prepared when it is first needed.
final class PreparedStatements<Kind: IndexStatement> {
    private unowned let database: Database
    private var statements = [Statement?](repeating: nil, count: Kind.allCases.count)

    init(_ database: Database) {
        self.database = database
    }

    /// Prepares all statements, and so finds out whether the index has all their tables.
    func prepareAll() throws(FileSystemError) {
        for kind in Kind.allCases { _ = try self[kind] }
    }

    subscript(_ kind: Kind) -> Statement {
        get throws(FileSystemError) {
            if let statement = statements[kind.rawValue] { return statement }
            let statement = try database.prepare(kind.sql)
            statements[kind.rawValue] = statement
            return statement
        }
    }
}
