internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem

/// The multiset hash over all rows of an index: for each table, the sum of keyed hashes of its rows, modulo
/// 2^128.
///
/// It changes with each row that is added or removed, independent of their order, and is stored in the
/// `state` row. An attacker who puts an older page back cannot make rows and sum agree (MSet-Add-Hash of
/// Clarke et al., Asiacrypt 2003).
struct RowDigest: ~Copyable {
    /// The tables that are summed; the raw value goes into each row's hash.
    enum Table: UInt8, CaseIterable {
        case items = 1
        case entries = 2
        case extents = 3
        case attributes = 4
        case packs = 5
        case contents = 6
        case orphans = 7
        case remoteExtents = 8
        case remotePages = 9
        case factItems = 10
        case factEntries = 11
        case factAttributes = 12
        case logs = 13
        case factState = 14
        case journal = 15
        case unsent = 16
        case kept = 17
        case history = 18
        case moments = 19
        case versions = 20
        case holes = 21
        case authors = 22
        case snapshots = 23

        /// The number of tables that every index has; they come first, and the tables of facts after them.
        static let alwaysCount = 9, factsEnd = 17

        /// Whether it is one of the tables of facts.
        var isOfFacts: Bool { (Self.alwaysCount + 1...Self.factsEnd).contains(Int(rawValue)) }
    }

    private let key: SymmetricKey<RowDigestRole>
    private(set) var sums: [Sum]
    /// The tables that there are.
    private(set) var tables: IndexTables

    /// A number modulo 2^128.
    struct Sum: Equatable {
        var low: UInt64 = 0
        var high: UInt64 = 0

        mutating func add(_ other: Sum) {
            let (sum, carry) = low.addingReportingOverflow(other.low)
            low = sum
            high = high &+ other.high &+ (carry ? 1 : 0)
        }

        mutating func subtract(_ other: Sum) {
            let (difference, borrow) = low.subtractingReportingOverflow(other.low)
            low = difference
            high = high &- other.high &- (borrow ? 1 : 0)
        }
    }

    init(key: consuming SymmetricKey<RowDigestRole>) {
        self.key = key
        tables = IndexTables()
        sums = [Sum](repeating: Sum(), count: Table.alwaysCount)
    }

    /// - Throws: `.damaged` if there are not as many sums as these tables need.
    init(key: consuming SymmetricKey<RowDigestRole>, sums: [Sum], _ tables: IndexTables)
        throws(FileSystemError)
    {
        self.key = key
        self.sums = sums
        self.tables = tables
        guard sums.count == Self.count(for: tables) else {
            throw .damaged(place: "the state row of the index")
        }
    }

    /// The number of sums; those of missing tables before the last one are 0.
    private static func count(for tables: IndexTables) -> Int {
        tables.history ? Table.allCases.count : tables.facts ? Table.factsEnd : Table.alwaysCount
    }

    /// Includes the tables of facts from now on; they must be empty.
    mutating func addFacts() {
        tables.facts = true
        extend()
    }

    /// Includes the tables of history from now on; they must be empty.
    mutating func addHistory() {
        tables.history = true
        extend()
    }

    private mutating func extend() {
        while sums.count < Self.count(for: tables) { sums.append(Sum()) }
    }

    /// The hash of one row: keyed BLAKE2b-128 of the table's number and the row's fields.
    func hash(_ table: Table, _ fields: (inout ByteWriter) -> Void) -> Sum {
        var writer = ByteWriter(capacity: 192)
        writer.number(table.rawValue)
        fields(&writer)
        return hash(writer.finish())
    }

    /// The hash of one row whose columns are already written.
    func hash(_ columns: consuming HashedColumns) -> Sum { hash(columns.writer.finish()) }

    private func hash(_ input: [UInt8]) -> Sum {
        var output: [UInt8] = .init(repeating: 0, count: 16)
        output.withMutableRawSpan { unsafe Blake2b.hash(input.span.bytes, key: key, into: &$0) }
        return unsafe Sum(
            low: output.span.bytes.littleEndian(at: 0, as: UInt64.self),
            high: output.span.bytes.littleEndian(at: 8, as: UInt64.self))
    }

    mutating func add(_ table: Table, _ hash: Sum) {
        sums[Int(table.rawValue) - 1].add(hash)
    }

    mutating func subtract(_ table: Table, _ hash: Sum) {
        sums[Int(table.rawValue) - 1].subtract(hash)
    }

    /// Removes all rows of a table, which is empty now.
    mutating func forget(_ table: Table) {
        sums[Int(table.rawValue) - 1] = Sum()
    }

    /// A digest of no rows under the same key, to compute the sums again.
    func startingAnew() -> RowDigest {
        RowDigest(key: key.duplicate())
    }

    /// The sums as the `state` row stores them: 16 bytes for each table.
    var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 16 * sums.count)
        for sum in sums {
            writer.number(sum.low)
            writer.number(sum.high)
        }
        return writer.finish()
    }

    static func sums(_ bytes: [UInt8]) -> [Sum]? {
        let counts = [Table.alwaysCount, Table.factsEnd, Table.allCases.count]
        guard counts.contains(bytes.count / 16), bytes.count % 16 == 0 else { return nil }
        return (0..<bytes.count / 16).map {
            unsafe Sum(
                low: bytes.span.bytes.littleEndian(at: 16 * $0, as: UInt64.self),
                high: bytes.span.bytes.littleEndian(at: 16 * $0 + 8, as: UInt64.self))
        }
    }
}
