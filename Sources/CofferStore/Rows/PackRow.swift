package import CofferFormat

/// A pack and how full it is (docs/format.md, table `packs`).
package struct PackRow: Equatable, Sendable {
    /// Its number in this index.
    package var number: Int64
    /// Its name on disk and on a remote.
    package var id: PackID
    /// The plaintext bytes that were sealed into it.
    package var written: Int64
    /// Of these, the bytes that ranges of extents still refer to.
    package var live: Int64

    /// A new pack, without extents.
    package init(number: Int64, id: PackID) {
        self.number = number
        self.id = id
        written = 0
        live = 0
    }

    static let columns = "number, id, written, live"

    init(_ row: Statement) {
        number = row.integer(0)
        id = PackID(bytes: row.bytes(1)) ?? PackID(low: 0, high: 0)
        written = row.integer(2)
        live = row.integer(3)
    }

    func bind(to statement: Statement) {
        statement.bind(1, number)
        statement.bind(2, id.bytes)
        statement.bind(3, written)
        statement.bind(4, live)
    }

    func digest(into writer: inout ByteWriter) {
        writer.number(number)
        writer.identifier(id)
        writer.number(written)
        writer.number(live)
    }
}
