import CofferCrypto
import CofferFormat

@testable import CofferStore

/// The expected content of an index: the same rows, in dictionaries.
struct IndexModel: Equatable {
    struct Content: Equatable {
        var bytes: [UInt8]
        var live: Int64
    }

    static let root: Int64 = 1

    var items: [Int64: ItemRow] = [:]
    /// The one name of each item, by the item's number.
    var entries: [Int64: EntryRow] = [:]
    var extents: [Int64: [ExtentRow]] = [:]
    var attributes: [Int64: [[UInt8]: [UInt8]]] = [:]
    var contents: [Int64: Content] = [:]
    var packs: [Int64: PackRow] = [:]
    var remoteExtents: [Int64: RemoteExtentRow] = [:]
    var orphans: Set<Int64> = []

    init() {}

    /// Reads all rows of an index through its own interface.
    init(reading index: Index) throws {
        for number in 1..<index.counters.item {
            guard let row = try index.item(number) else { continue }
            items[number] = row
            let attributes = try index.attributes(of: number)
            if !attributes.isEmpty { self.attributes[number] = Dictionary(uniqueKeysWithValues: attributes) }
            let extents = try index.extents(of: number, overlapping: 0..<Int64.max)
            if !extents.isEmpty { self.extents[number] = extents }
            for row in extents where row.remote != 0 {
                remoteExtents[row.remote] = try index.remoteExtent(row.remote)
            }
            for case .row(let content) in extents.map(\.place) {
                guard let bytes = try index.content(content) else { continue }
                let live = extents.filter { $0.place == .row(content) }.reduce(0) { $0 + $1.length }
                contents[content] = Content(bytes: bytes, live: live)
            }
        }
        for row in try index.entries(in: Self.root, after: 0, limit: 1_000_000) {
            entries[row.item] = try index.entry(row.name, in: Self.root)
        }
        for row in try index.packs() { packs[row.number] = row }
        orphans = Set(try index.orphans())
    }

    /// Makes the root directory of a new vault.
    mutating func addRoot(to index: Index) throws {
        var root = ItemRow(
            number: index.nextItemNumber(), id: ItemID(low: 1, high: 1), mode: 0o040755, user: 0, group: 0,
            time: 1)
        root.links = 2
        root.parent = root.number
        _ = try index.put(root, replacing: nil)
        items[root.number] = root
    }
}

extension Index {
    /// Runs SQL on the database, past the tables' own code.
    func execute(_ sql: String) throws { try database.execute(sql) }
}
