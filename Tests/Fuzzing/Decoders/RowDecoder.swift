import CofferCrypto
import CofferFormat
import CofferStore
import CofferSystem
import CofferTestSupport

@testable import CofferFUSE
@testable import CofferVault

// Rows that an attacker with the keys put into an index, and the use of a vault with them.
extension Decoder {
    static let rows = Decoder(name: "rows", byteCountMax: 256) {
        let zeros = [UInt8](repeating: 0, count: 40)
        // One row of each table, then each way to use a vault.
        return [[], [1, 5, 2] + zeros] + (0..<6).map { [1, $0] + zeros }
            + (0..<10).map { [0, $0, 3] + zeros }
    } run: { bytes in
        let directory = try SealedVault.closed.get().copy()
        var input = Input(bytes)
        let index = try SealedVault.openIndex(directory)
        for _ in 0..<input.byte() % 16 { try? put(&input, into: index) }
        try index.close()
        return try use(directory, &input)
    }

    private static func put(_ input: inout Input, into index: Index) throws {
        switch input.byte() % 6 {
        case 0: try putItem(&input, into: index)
        case 1:
            try index.insert(
                EntryRow(
                    parent: input.number(), name: input.counted(), item: input.number(), type: input.byte(),
                    cookie: input.number()))
        case 2: try putExtent(&input, into: index)
        case 3:
            try index.setAttribute(
                input.counted(), of: input.number(), to: input.counted(), replacing: nil)
        case 4:
            var row = PackRow(number: input.number(), id: PackID(low: 5, high: UInt64(input.byte())))
            row.written = input.number()
            row.live = input.number()
            try index.put(row, replacing: nil)
        default:
            let kind = input.byte()
            if kind & 2 != 0 {
                let place = SealedPlace(
                    pack: PackID(low: 1, high: 2), position: UInt32(truncatingIfNeeded: input.number()),
                    hash: .zero)
                _ = try index.insertRemoteExtent(place, live: input.number())
            } else if kind & 1 == 0 {
                try index.insertOrphan(input.number())
            } else {
                _ = try index.insertContent(input.counted(), live: input.number())
            }
        }
    }

    private static func putItem(_ input: inout Input, into index: Index) throws {
        let number = input.number()
        let old = try index.item(number)
        var row =
            old
            ?? ItemRow(
                number: number, id: ItemID(low: 1, high: 2), mode: 0o100644, user: 1, group: 1, time: 1)
        row.mode = UInt32(truncatingIfNeeded: input.number()) ^ row.mode
        row.links = UInt32(truncatingIfNeeded: input.number())
        row.size = input.number()
        row.allocated = input.number()
        row.device = UInt64(bitPattern: input.number())
        row.modified = input.number()
        row.changed = row.modified
        row.parent = input.number()
        row.flags = ItemRow.Flags(rawValue: UInt32(input.byte()))
        row.target = input.counted()
        _ = try index.put(row, replacing: old.map { index.hash(of: $0) })
    }

    /// A range of a new extent, or an old one that is changed.
    private static func putExtent(_ input: inout Input, into index: Index) throws {
        let item = input.number()
        let place = input.number()
        let (offset, length, kind) = (input.number(), input.number(), input.byte())
        var row = ExtentRow(
            item: item, offset: offset, length: length,
            place: kind & 4 != 0
                ? .remote : kind & 1 == 0 ? .row(place) : .pack(place, position: input.number()),
            prefix: NoncePrefix(low: 1, high: 2), epoch: Epoch(UInt32(truncatingIfNeeded: input.number())))
        row.base = input.number()
        row.total = input.number()
        if kind & 6 != 0 { row.remote = place }
        try index.insert(row)
    }

    /// Uses the vault as the kernel would.
    private static func use(
        _ directory: SimulatedStorageDirectory, _ input: inout Input
    ) throws -> Outcome {
        guard let vault = try? SealedVault.open(directory) else { return .refused }
        try? look(at: vault)
        for _ in 0..<16 where !input.isEmpty { try? change(vault, &input) }
        try? vault.commit()
        _ = try? vault.repacking.compact()
        _ = try? vault.cache.evict(to: 0)
        try? look(at: vault)
        try? vault.close()
        return .taken
    }

    private static func look(at vault: Vault) throws {
        _ = try vault.check { _, _ in }
        for number in SealedVault.items {
            if let attributes = try? vault.attributes(of: number) {
                _ = StatusRecord.entry(attributes, Node(slot: 1, item: number))
            }
            for entry in (try? vault.readDirectory(number, after: 0, limit: 10, attributes: true)) ?? [] {
                _ = Node(slot: 1, item: entry.item).number
            }
            _ = try? vault.readLink(number)
            _ = vault.path(of: number)
        }
    }

    private static func change(_ vault: Vault, _ input: inout Input) throws {
        let kind = input.byte() % 10
        let item = Int64(input.byte() & 7)
        let names = ["folder", "large", "small", "empty", "link", "new"].map { Array($0.utf8) }
        let name = names[Int(input.byte()) % names.count]
        // The kernel requests nothing below 0, and no range that ends past 2^63.
        let offset = input.number() & (.max ^ 0xff_ffff)
        switch kind {
        case 0:
            let buffer = AlignedBuffer(count: ExtentLayout.byteCountMax)
            _ = try vault.contents.read(item, at: offset, count: 100_000, into: buffer)
        case 1:
            let content = [UInt8](repeating: 1, count: 20_000)
            try vault.contents.write(
                content.span.bytes, to: item, at: offset, touches: true, dropsPrivileges: true)
        case 2:
            var changes = AttributeChanges()
            changes.size = offset
            _ = try vault.setAttributes(of: item, changes)
        case 3: _ = try vault.contents.seek(item, from: offset, toData: offset & 1 == 0)
        case 4:
            try vault.contents.allocate(.punchHole, of: item, offset..<offset + 5000, by: SealedVault.owner)
        case 5: vault.release(try vault.unlink(name, in: item).number)
        case 6: vault.release(try vault.removeDirectory(name, in: item))
        case 7: _ = try vault.rename(name, in: item, to: names[5], in: Vault.rootNumber, .replace)
        case 8: _ = try vault.link(item, as: name, in: Vault.rootNumber)
        default:
            _ = try vault.create(
                Vault.NewItem(mode: 0o100644), named: name, in: item, by: SealedVault.owner)
        }
    }
}
