import CofferCrypto
import CofferFormat
import CofferTestSupport

import CofferStore

/// Random changes that keep the rules of an index, made to the index and to its model.
struct RandomRows {
    var model: IndexModel
    var random: SplitMix64

    init(model: IndexModel, random: SplitMix64) {
        self.model = model
        self.random = random
    }

    /// Continues with the content of an index.
    init(continuing index: Index, seed: UInt64) throws {
        model = try IndexModel(reading: index)
        random = SplitMix64(seed: seed)
    }

    private var files: [Int64] { model.items.keys.filter { $0 != IndexModel.root }.sorted() }
    private var named: [Int64] { model.entries.keys.sorted() }

    /// Makes some changes.
    mutating func change(_ index: Index, count: Int) throws {
        for _ in 0..<count {
            switch random.below(14) {
            case 0...3: try addFile(index)
            case 4...5: try changeTimes(index)
            case 6...7: try addExtent(index)
            case 8...10: try setAttribute(index)
            case 11: try removeAttribute(index)
            case 12: try takeNameAway(index)
            default: try removeFile(index)
            }
        }
    }

    private mutating func addFile(_ index: Index) throws {
        let number = index.nextItemNumber()
        var row = ItemRow(
            number: number, id: ItemID(low: random.next(), high: random.next()), mode: 0o100644, user: 1000,
            group: 1000, time: Int64(random.below(1 << 40)))
        row.target = random.bytes(random.below(100))
        var entry = EntryRow(
            parent: IndexModel.root, name: Array("file-\(number)-\(random.below(1000))".utf8), item: number,
            type: 8,
            cookie: index.nextCookie())
        entry.unsent = random.oneIn(2)
        _ = try index.put(row, replacing: nil)
        try index.insert(entry)
        model.items[number] = row
        model.entries[number] = entry
    }

    private mutating func replace(_ row: ItemRow, _ index: Index) throws {
        let old = model.items[row.number].map { index.hash(of: $0) }
        _ = try index.put(row, replacing: old)
        model.items[row.number] = row
    }

    private mutating func changeTimes(_ index: Index) throws {
        guard let number = random.pick(files), var row = model.items[number] else { return }
        row.modified = Int64(random.below(1 << 40))
        row.flags = ItemRow.Flags(rawValue: UInt32(random.below(16)))
        try replace(row, index)
    }

    private mutating func addExtent(_ index: Index) throws {
        guard let number = random.pick(files), var row = model.items[number] else { return }
        let length = Int64(1 + random.below(2000))
        let offset = row.size + Int64(random.below(3)) * 4096
        let prefix = NoncePrefix(low: random.next(), high: random.next())
        let place: ExtentRow.Place
        var remote: Int64 = 0
        if random.oneIn(3) {
            let stands = SealedPlace(
                pack: PackID(low: random.next(), high: 1), position: UInt32(48 + random.below(1 << 20)),
                hash: ContentHash(bytes: random.bytes(32)) ?? .zero)
            remote = try index.insertRemoteExtent(stands, live: length)
            model.remoteExtents[remote] = RemoteExtentRow(number: remote, place: stands, live: length)
            place = .remote
        } else if random.oneIn(2) {
            let bytes = random.bytes(Int(length))
            let content = try index.insertContent(bytes, live: length)
            model.contents[content] = .init(bytes: bytes, live: length)
            place = .row(content)
        } else {
            place = .pack(try growPack(by: length, index), position: 32)
        }
        var extent = ExtentRow(
            item: number, offset: offset, length: length, place: place, prefix: prefix, epoch: .first)
        extent.remote = remote
        try index.insert(extent)
        model.extents[number, default: []].append(extent)
        row.size = extent.end
        row.allocated += length
        try replace(row, index)
    }

    private mutating func growPack(by length: Int64, _ index: Index) throws -> Int64 {
        let old = random.oneIn(10) ? nil : model.packs.values.min { $0.number < $1.number }
        var pack =
            old
            ?? PackRow(number: index.nextPackNumber(), id: PackID(low: random.next(), high: random.next()))
        pack.written += length
        pack.live += length
        try index.put(pack, replacing: old)
        model.packs[pack.number] = pack
        return pack.number
    }

    private mutating func setAttribute(_ index: Index) throws {
        guard let number = random.pick(files) else { return }
        let name = Array("user.\(random.below(4))".utf8)
        let value = random.bytes(random.below(300))
        try index.setAttribute(name, of: number, to: value, replacing: model.attributes[number]?[name])
        model.attributes[number, default: [:]][name] = value
    }

    private mutating func removeAttribute(_ index: Index) throws {
        guard let number = random.pick(model.attributes.keys.sorted()),
            let (name, value) = model.attributes[number]?.min(by: { $0.key.lexicographicallyPrecedes($1.key) }
            )
        else { return }
        try index.removeAttribute(name, of: number, value: value)
        model.attributes[number]?[name] = nil
        if model.attributes[number]?.isEmpty == true { model.attributes[number] = nil }
    }

    private mutating func takeNameAway(_ index: Index) throws {
        guard let number = random.pick(named), let entry = model.entries[number],
            var row = model.items[number]
        else { return }
        try index.remove(entry)
        model.entries[number] = nil
        row.links = 0
        try replace(row, index)
        try index.insertOrphan(number)
        model.orphans.insert(number)
    }

    /// Removes an item without a name, with all its rows.
    private mutating func removeFile(_ index: Index) throws {
        guard let number = random.pick(model.orphans.sorted()), let row = model.items[number] else { return }
        for extent in model.extents[number] ?? [] {
            try index.remove(extent)
            switch extent.place {
            case .remote:
                try index.addLive(-extent.length, toRemote: extent.remote)
                model.remoteExtents[extent.remote] = nil
            case .row(let content):
                try index.addLive(-extent.length, toContent: content)
                model.contents[content] = nil
            case .pack(let pack, _):
                guard let old = model.packs[pack] else { continue }
                var new = old
                new.live -= extent.length
                try index.put(new, replacing: old)
                model.packs[pack] = new
            }
        }
        for (name, value) in model.attributes[number] ?? [:] {
            try index.removeAttribute(name, of: number, value: value)
        }
        try index.removeItem(number, index.hash(of: row))
        try index.removeOrphan(number)
        model.items[number] = nil
        model.extents[number] = nil
        model.attributes[number] = nil
        model.orphans.remove(number)
    }
}
