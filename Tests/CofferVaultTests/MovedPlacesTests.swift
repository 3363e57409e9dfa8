import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
@testable import CofferVault

/// Contents whose bytes lie elsewhere at the remote.
@Suite struct MovedPlacesTests {
    private let devices: TwoDevices
    private let content = Pattern.make(1 << 20)
    private let file: Int64
    private let value: [UInt8]

    init() throws {
        devices = try TwoDevices()
        file = try devices.a.makeFile("file", content)
        value = try devices.a.send(file, to: devices.remote)
    }

    /// The content with all extents in other packs, which the remote has.
    private func moved(_ change: (ContentEntry) -> ContentEntry = { $0 }) throws -> FetchedContent {
        let sent = try ContentValue(value.span.bytes)
        let entries = try devices.a.contents.fetchExtents(of: sent, for: file).entries
        var new: [ContentEntry] = []
        for entry in entries {
            let pack = PackID(low: entry.place.pack.low, high: 7)
            let old = entry.place.pack
            devices.remote.change { $0[pack] = $0[old] }
            let place = SealedPlace(pack: pack, position: entry.place.position, hash: entry.place.hash)
            new.append(change(entry.at(place)))
        }
        let moved = ContentValue(size: sent.size, origin: sent.origin, extents: .entries(new))
        return try #require(FetchedContent(moved))
    }

    private func places(_ number: Int64) throws -> [SealedPlace] {
        var places: [SealedPlace] = []
        for row in try devices.a.rows(of: number) {
            let remote = try devices.a.state.withLock { try $0.index.remoteExtent(row.remote) }
            places.append(remote.place)
        }
        return places
    }

    private func setPlaces(_ content: FetchedContent) throws -> Bool {
        var isDone = false
        try devices.a.changing { state throws(FileSystemError) in
            let item = try state.tree.item(file)
            isDone = try state.setPlaces(of: item, to: content)
        }
        return isDone
    }

    @Test func whatIsHereStays() throws {
        let moved = try moved()
        let places = moved.entries.map(\.place)
        let before = try devices.a.rows(of: file)
        #expect(try setPlaces(moved))
        #expect(try self.places(file) == places)
        #expect(try devices.a.rows(of: file) == before)
        devices.remote.forgetFetches()
        let isSame = try haveSameBytes(devices.a.content(of: file), content)
        #expect(isSame && devices.remote.fetchCount == 0)
        #expect(try devices.a.indexProblems() == [])
    }

    /// Another file that shares the extents keeps the old place, and the bytes on this device.
    @Test(arguments: [false, true])
    func whatAnotherFileSharesStays(isContent: Bool) throws {
        let copy = try devices.a.makeFile("copy")
        try devices.a.receive(value, as: copy, like: file)
        let before = try places(copy)
        let moved = try moved()
        let places = moved.entries.map(\.place)
        if isContent {
            try devices.a.receive(moved.value.bytes, as: file)
        } else {
            #expect(try setPlaces(moved))
        }
        #expect(try self.places(copy) == before)
        #expect(try self.places(file) == places)
        #expect(try devices.a.indexProblems() == [])
        let isThere = try haveSameBytes(devices.a.content(of: file), content)
        #expect(isThere)
        try devices.a.remove("file")
        try devices.a.commit()
        try devices.a.commit()
        devices.remote.forgetFetches()
        let isSame = try haveSameBytes(devices.a.content(of: copy), content)
        #expect(isSame && devices.remote.fetchCount == 0)
        #expect(try devices.a.damage() == [])
    }

    /// What names another content, or another part of it, changes nothing.
    @Test(arguments: 0..<4)
    func anotherContentIsRefused(kind: Int) throws {
        let moved = try moved { entry in
            var other = entry
            if kind == 0 {
                other = entry.at(
                    SealedPlace(pack: entry.place.pack, position: entry.place.position, hash: .zero))
            }
            if kind == 1 { other = entry.shortened() }
            if kind == 2 { other = entry.withAnotherPrefix() }
            return other
        }
        let before = (try devices.a.rows(of: file), try places(file))
        if kind == 3 { try devices.a.put([1], to: file, at: 5) }
        let isDone = try setPlaces(moved)
        #expect(!isDone)
        if kind < 3 {
            #expect(try devices.a.rows(of: file) == before.0)
            #expect(try places(file) == before.1)
        }
        #expect(try devices.a.indexProblems() == [])
    }
}

extension ContentEntry {
    fileprivate func at(_ place: SealedPlace) -> ContentEntry { with(length, place, prefixLow) }
    fileprivate func shortened() -> ContentEntry { with(length - 1, place, prefixLow) }
    fileprivate func withAnotherPrefix() -> ContentEntry { with(length, place, prefixLow ^ 1) }

    private func with(_ length: Int64, _ place: SealedPlace, _ prefixLow: UInt64) -> ContentEntry {
        ContentEntry(
            offset: offset, length: length, base: base, total: total, place: place, prefixLow: prefixLow,
            prefixHigh: prefixHigh, epoch: epoch)
    }
}
