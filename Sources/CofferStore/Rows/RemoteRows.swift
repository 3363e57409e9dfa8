package import CofferFormat
internal import CofferSystem

/// A sealed extent that is on a remote (docs/format.md, table `remote_extents`).
package struct RemoteExtentRow: Equatable, Sendable {
    /// Its number in this index.
    package let number: Int64
    /// Its place, and its hash.
    package let place: SealedPlace
    /// The bytes of ranges that refer to it, whether or not their content is also on this device.
    package let live: Int64

    package init(number: Int64, place: SealedPlace, live: Int64) {
        self.number = number
        self.place = place
        self.live = live
    }

    static let columns = "number, pack, position, hash, live"

    /// Reads a row.
    ///
    /// - Parameter first: The index of its first column.
    init(_ row: Statement, from first: Int32 = 0) {
        number = row.integer(first)
        place = SealedPlace(
            pack: row.bytes(first + 1), position: row.integer(first + 2), hash: row.bytes(first + 3))
        live = row.integer(first + 4)
    }

    func digest(into writer: inout ByteWriter) {
        writer.number(number)
        writer.identifier(place.pack)
        writer.number(Int64(place.position))
        place.hash.append(to: &writer)
        writer.number(live)
    }
}

/// A page of a content tree that is on a remote (docs/format.md, table `remote_pages`).
package struct RemotePageRow: Equatable, Sendable {
    /// The item's number.
    package let item: Int64
    /// Its position in the tree.
    package let node: ContentNode
    /// BLAKE2b-256 of its plaintext, which shows whether the page is unchanged.
    package let plain: ContentHash
    /// Where it can be fetched.
    package let reference: PageReference

    package init(item: Int64, node: ContentNode, plain: ContentHash, reference: PageReference) {
        self.item = item
        self.node = node
        self.plain = plain
        self.reference = reference
    }

    static let columns = #"item, level, "index", plain, pack, position, length, epoch, hash"#

    init(_ row: Statement) {
        item = row.integer(0)
        node = ContentNode(
            level: UInt8(truncatingIfNeeded: row.integer(1)), index: UInt64(bitPattern: row.integer(2)))
        plain = ContentHash(bytes: row.bytes(3)) ?? .zero
        reference = PageReference(
            place: SealedPlace(pack: row.bytes(4), position: row.integer(5), hash: row.bytes(8)),
            length: UInt32(truncatingIfNeeded: row.integer(6)),
            epoch: Epoch(UInt32(truncatingIfNeeded: row.integer(7))))
    }

    func bind(to statement: Statement) {
        statement.bind(1, item)
        statement.bind(2, Int64(node.level))
        statement.bind(3, Int64(bitPattern: node.index))
        statement.bind(4, plain.bytes)
        statement.bind(5, reference.place.pack.bytes)
        statement.bind(6, Int64(reference.place.position))
        statement.bind(7, Int64(reference.length))
        statement.bind(8, Int64(reference.epoch.number))
        statement.bind(9, reference.place.hash.bytes)
    }

    func digest(into writer: inout ByteWriter) {
        writer.number(item)
        writer.number(Int64(node.level))
        writer.number(node.index)
        plain.append(to: &writer)
        writer.identifier(reference.place.pack)
        for value in [reference.place.position, reference.length, reference.epoch.number] {
            writer.number(Int64(value))
        }
        reference.place.hash.append(to: &writer)
    }
}

extension SealedPlace {
    fileprivate init(pack: [UInt8], position: Int64, hash: [UInt8]) {
        self.init(
            pack: PackID(bytes: pack) ?? PackID(low: 0, high: 0),
            position: UInt32(truncatingIfNeeded: position), hash: ContentHash(bytes: hash) ?? .zero)
    }
}
