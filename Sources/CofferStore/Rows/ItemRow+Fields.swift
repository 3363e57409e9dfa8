package import CofferFormat
internal import CofferSystem

// The fields of an item, described once for the columns of the index and for the bytes of the row digest.
extension ItemRow {
    /// Visits all fields in their order.
    @inline(__always)
    private mutating func visitFields<Visitor: ItemFieldVisitor>(
        _ visitor: inout Visitor
    ) throws(Visitor.Failure) {
        try visitor.number(&number)
        try visitor.identifier(&id)
        try visitor.number(&mode)
        try visitor.number(&links)
        try visitor.number(&user)
        try visitor.number(&group)
        try visitor.number(&size)
        try visitor.number(&allocated)
        try visitor.number(&device)
        try visitor.number(&accessed)
        try visitor.number(&modified)
        try visitor.number(&changed)
        try visitor.number(&born)
        try visitor.number(&parent)
        try visitor.bits(&flags)
        try visitor.bits(&unsent)
        try visitor.origin(&origin, of: id)
        try visitor.rest(&target)
    }

    /// Reads the columns of a row.
    init(_ row: Statement) {
        self.init()
        var columns = ItemColumns(row)
        visitFields(&columns)
    }

    /// Binds the columns to the parameters of a statement.
    func bind(to statement: Statement) {
        var row = self
        var parameters = ItemParameters(statement)
        row.visitFields(&parameters)
    }

    /// The fields in order, as they go into the row digest.
    package var fields: [UInt8] {
        var writer = ByteWriter(capacity: 144 + target.count)
        digest(into: &writer)
        return writer.finish()
    }

    func digest(into writer: inout ByteWriter) {
        var row = self
        row.visitFields(&writer)
    }

    /// Reads the bytes of `fields`; checks no values.
    ///
    /// - Throws: `.truncated`.
    package init(fields: RawSpan) throws(FormatError) {
        self.init()
        var reader = ItemFieldReader(bytes: fields.array)
        try visitFields(&reader)
    }

    /// An item whose fields are read next.
    private init() {
        self.init(number: 0, id: ItemID(low: 0, high: 0), mode: 0, user: 0, group: 0, time: 0)
    }
}

/// Reads or writes the fields of an item, one after the other.
private protocol ItemFieldVisitor {
    associatedtype Failure: Error

    mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(_ value: inout Number) throws(Failure)
    mutating func identifier(_ value: inout ItemID) throws(Failure)
    /// The item under whose id the content is sealed; most often that is the item itself.
    mutating func origin(_ value: inout ItemID, of id: ItemID) throws(Failure)
    /// The last field, whose length is not stored.
    mutating func rest(_ value: inout [UInt8]) throws(Failure)
}

extension ItemFieldVisitor {
    @inline(__always)
    fileprivate mutating func bits<Bits: OptionSet>(
        _ value: inout Bits
    ) throws(Failure) where Bits.RawValue == UInt32 {
        var bits = value.rawValue
        try number(&bits)
        value = Bits(rawValue: bits)
    }

    @inline(__always)
    fileprivate mutating func origin(_ value: inout ItemID, of id: ItemID) throws(Failure) {
        try identifier(&value)
    }
}

/// The columns of a row that a statement returned; an `origin` without bytes is the item itself.
private struct ItemColumns: ItemFieldVisitor {
    private let row: Statement
    private var column: Int32 = -1

    init(_ row: Statement) {
        self.row = row
    }

    mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(_ value: inout Number) {
        column += 1
        value = Number(truncatingIfNeeded: row.integer(column))
    }

    mutating func identifier(_ value: inout ItemID) {
        column += 1
        value = ItemID(bytes: row.bytes(column)) ?? ItemID(low: 0, high: 0)
    }

    mutating func origin(_ value: inout ItemID, of id: ItemID) {
        identifier(&value)
        if row.bytes(column).isEmpty { value = id }
    }

    mutating func rest(_ value: inout [UInt8]) {
        column += 1
        value = row.bytes(column)
    }
}

/// The parameters of a statement; an `origin` that is the item itself is bound as no bytes.
private struct ItemParameters: ItemFieldVisitor {
    private let statement: Statement
    private var index: Int32 = 0

    init(_ statement: Statement) {
        self.statement = statement
    }

    mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(_ value: inout Number) {
        index += 1
        statement.bind(index, Int64(truncatingIfNeeded: value))
    }

    mutating func identifier(_ value: inout ItemID) {
        index += 1
        statement.bind(index, value.bytes)
    }

    mutating func origin(_ value: inout ItemID, of id: ItemID) {
        index += 1
        statement.bind(index, value == id ? [] : value.bytes)
    }

    mutating func rest(_ value: inout [UInt8]) {
        index += 1
        statement.bind(index, value)
    }
}

/// Bytes to write.
extension ByteWriter: ItemFieldVisitor {
    @inline(__always)
    fileprivate mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(_ value: inout Number) {
        number(value)
    }

    @inline(__always)
    fileprivate mutating func identifier(_ value: inout ItemID) { identifier(value) }

    fileprivate mutating func rest(_ value: inout [UInt8]) { append(value) }
}

/// Bytes to read.
private struct ItemFieldReader: ItemFieldVisitor {
    let bytes: [UInt8]
    private var cursor = ByteCursor()

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(
        _ value: inout Number
    ) throws(FormatError) {
        let bytes = bytes
        value = try unsafe cursor.number(Number.self, from: bytes.span.bytes)
    }

    mutating func identifier(_ value: inout ItemID) throws(FormatError) {
        let bytes = bytes
        value = try unsafe cursor.identifier(ItemID.self, from: bytes.span.bytes)
    }

    mutating func rest(_ value: inout [UInt8]) throws(FormatError) {
        value = Array(bytes[cursor.offset...])
    }
}
