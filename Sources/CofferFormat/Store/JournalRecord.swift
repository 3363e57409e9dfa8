internal import CofferSystem

/// A change of names in a vault that is not in facts yet (docs/format.md, "Journal").
///
///     bytes  field
///         1  1 make, 2 link, 3 move, 4 exchange, 5 remove
///         …  make: number 8, item 16, st_mode 4, time of modification 8; for a device node its number 8, for
///            a symbolic link the length of its target 2 and the target; then a place.
///            link: item 16, a place. move, exchange: two places. remove: a place.
///
/// A place is the item of the directory 16, the length of the name 1, and the name, as it was shown at the
/// time of the change.
package enum JournalRecord: Equatable, Sendable {
    /// An item was created, with its first name.
    case make(Made, at: Place)
    /// An item got another name.
    case link(ItemID, at: Place)
    /// A name was moved; an entry at the second place is gone.
    case move(Place, to: Place)
    /// Two names were exchanged.
    case exchange(Place, Place)
    /// A name was removed.
    case remove(Place)

    /// An item as it was created.
    package struct Made: Equatable, Sendable {
        /// Its number in the index.
        package var number: Int64
        /// Its id.
        package var item: ItemID
        /// Type and permissions, as st_mode.
        package var mode: UInt32
        /// When it was created, in nanoseconds since 1970.
        package var modified: Int64
        /// The kind of the item.
        package var kind: Fact.Kind

        package init(number: Int64, item: ItemID, mode: UInt32, modified: Int64, kind: Fact.Kind) {
            self.number = number
            self.item = item
            self.mode = mode
            self.modified = modified
            self.kind = kind
        }
    }

    enum Tag: UInt8 {
        case make = 1
        case link = 2
        case move = 3
        case exchange = 4
        case remove = 5
    }

    /// Reads consecutive records.
    ///
    /// - Throws: any `FormatError`.
    package static func records(_ bytes: RawSpan) throws(FormatError) -> [JournalRecord] {
        var cursor = ByteCursor()
        var records: [JournalRecord] = []
        while cursor.offset < bytes.byteCount { records.append(try record(bytes, &cursor)) }
        return records
    }

    private static func record(
        _ bytes: RawSpan, _ cursor: inout ByteCursor
    ) throws(FormatError) -> JournalRecord {
        switch Tag(rawValue: try cursor.number(UInt8.self, from: bytes)) {
        case .make: return .make(try made(bytes, &cursor), at: try place(bytes, &cursor))
        case .link:
            return .link(try cursor.identifier(ItemID.self, from: bytes), at: try place(bytes, &cursor))
        case .move: return .move(try place(bytes, &cursor), to: try place(bytes, &cursor))
        case .exchange: return .exchange(try place(bytes, &cursor), try place(bytes, &cursor))
        case .remove: return .remove(try place(bytes, &cursor))
        case nil: throw .invalid(field: "tag")
        }
    }

    private static func made(_ bytes: RawSpan, _ cursor: inout ByteCursor) throws(FormatError) -> Made {
        let number = try cursor.number(Int64.self, from: bytes)
        guard number > 0 else { throw .invalid(field: "number") }
        let item = try cursor.identifier(ItemID.self, from: bytes)
        let mode = try cursor.number(UInt32.self, from: bytes)
        let modified = try cursor.number(Int64.self, from: bytes)
        let kind: Fact.Kind
        switch mode >> 12 {
        case 1: kind = .fifo
        case 2: kind = .characterDevice(try cursor.number(UInt64.self, from: bytes))
        case 4: kind = .directory
        case 6: kind = .blockDevice(try cursor.number(UInt64.self, from: bytes))
        case 8: kind = .file
        case 10:
            let count = Int(try cursor.number(UInt16.self, from: bytes))
            kind = .symlink(target: try cursor.bytes(count, from: bytes))
        case 12: kind = .socket
        default: throw .invalid(field: "mode")
        }
        return Made(number: number, item: item, mode: mode, modified: modified, kind: kind)
    }

    private static func place(_ bytes: RawSpan, _ cursor: inout ByteCursor) throws(FormatError) -> Place {
        let parent = try cursor.identifier(ItemID.self, from: bytes)
        let count = Int(try cursor.number(UInt8.self, from: bytes))
        guard let name = EntryName(try cursor.bytes(count, from: bytes)) else {
            throw .invalid(field: "name")
        }
        return Place(parent: parent, name: name)
    }
}

/// Writes records of the journal one after another, with nothing in between.
package struct JournalWriter {
    private var writer = ByteWriter()
    /// The number of records.
    package private(set) var count = 0

    /// Begins without records.
    package init() {}

    /// The size of all records, in bytes.
    package var byteCount: Int { writer.bytes.count }

    /// A name in a directory, as the code that changes it has it.
    package struct End {
        let parent: ItemID
        let name: [UInt8]

        /// Makes a place.
        ///
        /// - Parameter name: A valid name of 1 to 255 bytes.
        package init(_ name: [UInt8], in parent: ItemID) {
            self.parent = parent
            self.name = name
        }
    }

    /// Records that an item was created.
    ///
    /// - Parameters:
    ///   - device: The number of a device node.
    ///   - target: The target of a symbolic link, up to 65,535 bytes.
    package mutating func make(
        number: Int64, _ item: ItemID, mode: UInt32, modified: Int64, device: UInt64, target: [UInt8],
        at place: End
    ) {
        begin(.make)
        writer.number(number)
        writer.identifier(item)
        writer.number(mode)
        writer.number(modified)
        switch mode >> 12 {
        case 2, 6: writer.number(device)
        case 10:
            writer.number(UInt16(target.count))
            writer.append(target)
        default: break
        }
        append(place)
    }

    /// Records that an item got another name.
    package mutating func link(_ item: ItemID, at place: End) {
        begin(.link)
        writer.identifier(item)
        append(place)
    }

    /// Records that a name was moved, and replaced an entry at the target.
    package mutating func move(_ source: End, to target: End) {
        begin(.move)
        append(source)
        append(target)
    }

    /// Records that two names were exchanged.
    package mutating func exchange(_ one: End, _ other: End) {
        begin(.exchange)
        append(one)
        append(other)
    }

    /// Records that a name was removed.
    package mutating func remove(_ place: End) {
        begin(.remove)
        append(place)
    }

    /// Returns the bytes of all records, and begins again without records.
    package mutating func take() -> [UInt8] {
        defer {
            writer = ByteWriter(capacity: 4096)
            count = 0
        }
        return writer.bytes
    }

    private mutating func begin(_ tag: JournalRecord.Tag) {
        count += 1
        writer.number(tag.rawValue)
    }

    private mutating func append(_ place: End) {
        writer.identifier(place.parent)
        writer.number(UInt8(truncatingIfNeeded: place.name.count))
        writer.append(place.name)
    }
}
