internal import CofferFormat

/// A name in a directory (docs/format.md, table `entries`).
package struct EntryRow: Equatable, Sendable {
    /// The directory's number.
    package var parent: Int64
    /// 1 to 255 bytes, without "/" and NUL.
    package var name: [UInt8]
    /// The number of the item that it leads to.
    package var item: Int64
    /// The item's type, like d_type.
    package var type: UInt8
    /// Its place in the order of reading; above 2, and unique.
    package var cookie: Int64
    /// Whether the entry changed since it was last sent to a remote.
    package var unsent: Bool

    /// A new name, which was not sent to a remote yet.
    package init(parent: Int64, name: [UInt8], item: Int64, type: UInt8, cookie: Int64) {
        self.parent = parent
        self.name = name
        self.item = item
        self.type = type
        self.cookie = cookie
        unsent = true
    }

    static let columns = "parent, name, item, type, cookie, unsent"

    init(_ row: Statement) {
        parent = row.integer(0)
        name = row.bytes(1)
        item = row.integer(2)
        type = UInt8(truncatingIfNeeded: row.integer(3))
        cookie = row.integer(4)
        unsent = row.integer(5) != 0
    }

    func bind(to statement: Statement) {
        statement.bind(1, parent)
        statement.bind(2, name)
        statement.bind(3, item)
        statement.bind(4, Int64(type))
        statement.bind(5, cookie)
        statement.bind(6, unsent ? 1 : 0)
    }

    func digest(into writer: inout ByteWriter) {
        writer.number(parent)
        writer.number(item)
        writer.number(type)
        writer.number(cookie)
        writer.number(UInt8(unsent ? 1 : 0))
        writer.append(name)
    }
}
