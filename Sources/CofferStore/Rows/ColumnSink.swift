internal import CofferFormat
internal import CofferSystem

/// Receives the columns of a row in order: a statement, or the message of a row's hash.
protocol ColumnSink {
    mutating func null()
    mutating func integer(_ value: Int64)
    mutating func bytes(_ value: [UInt8])
    /// An identifier with byte 15 first, so that SQLite sorts identifiers as they compare.
    mutating func identifier<Kind>(_ value: Identifier<Kind>)
}

extension ColumnSink {
    mutating func integer(_ value: Int64?) {
        if let value { integer(value) } else { null() }
    }

    mutating func bytes(_ value: [UInt8]?) {
        if let value { bytes(value) } else { null() }
    }

    mutating func identifier<Kind>(_ value: Identifier<Kind>?) {
        if let value { identifier(value) } else { null() }
    }

    /// Two columns: the parent and the name.
    mutating func place(_ value: Place?) {
        identifier(value?.parent)
        bytes(value?.name.bytes)
    }
}

/// Binds columns to the parameters of a statement.
struct BoundColumns: ColumnSink {
    private let statement: Statement
    private var index: Int32 = 0

    init(_ statement: Statement) {
        self.statement = statement
    }

    mutating func null() {
        index += 1
        statement.bindNull(index)
    }

    mutating func integer(_ value: Int64) {
        index += 1
        statement.bind(index, value)
    }

    mutating func bytes(_ value: [UInt8]) {
        index += 1
        statement.bind(index, value)
    }

    mutating func identifier<Kind>(_ value: Identifier<Kind>) {
        index += 1
        statement.bind(index, value)
    }
}

/// Writes columns into the message of a row's hash.
///
/// Each is 0 for NULL, 1 and the number as `i64`, or 2, the number of bytes as `u32`, and the bytes.
struct HashedColumns: ColumnSink {
    private(set) var writer: ByteWriter

    init(_ table: RowDigest.Table) {
        writer = ByteWriter(capacity: 384)
        writer.number(table.rawValue)
    }

    /// Writes all columns of a row that a statement returned.
    init(_ table: RowDigest.Table, _ row: Statement) {
        self.init(table)
        for column in 0..<row.columnCount {
            switch row.value(column) {
            case .null: null()
            case .integer(let value): integer(value)
            case .bytes(let value): bytes(value)
            }
        }
    }

    mutating func null() { writer.number(UInt8(0)) }

    mutating func integer(_ value: Int64) {
        writer.number(UInt8(1))
        writer.number(value)
    }

    mutating func bytes(_ value: [UInt8]) {
        writer.number(UInt8(2))
        writer.number(UInt32(value.count))
        writer.append(value)
    }

    mutating func identifier<Kind>(_ value: Identifier<Kind>) {
        writer.number(UInt8(2))
        writer.number(UInt32(Identifier<Kind>.byteCount))
        writer.number(value.high.byteSwapped)
        writer.number(value.low.byteSwapped)
    }
}
