import CofferCrypto
import CofferFacts
import CofferFormat
import CofferRemote
import CofferSystem
import CofferTestSupport
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Synchronization
import Testing

import CofferClient
@testable import CofferSync
@testable import CofferVault
import CofferStore

/// A remote, and devices that move contents whatever that frees.
struct MovingPlace {
    let remote = MemoryRemote()
    let world: ReplicaWorld
    let devices: [ReplicaDevice]

    init(
        _ count: Int, commitsPerCheckpoint: UInt64 = 1000,
        at wrap: (MemoryRemote) -> any RemoteBackend = { $0 }
    ) async throws {
        world = try await ReplicaWorld.make(remote)
        let there = world.at(wrap(remote))
        devices = try (0..<count).map {
            try ReplicaDevice(
                $0, in: there, commitsPerCheckpoint: commitsPerCheckpoint, retiresAll: true, moves: true)
        }
        try await ReplicaDevice.meet(devices)
    }

    var packs: Set<RemoteName> { Set(remote.objects.keys.filter { world.layout.packs.contains($0) }) }
    var byteCount: Int { packs.reduce(0) { $0 + (remote.objects[$1]?.count ?? 0) } }

    /// The largest pack.
    var largest: RemoteName? {
        packs.max { remote.objects[$0]?.count ?? 0 < remote.objects[$1]?.count ?? 0 }
    }

    /// Syncs until nothing more happens, with all the looks at packs that this takes.
    func rest(_ some: [ReplicaDevice]? = nil, times: Int = 5) async throws {
        for _ in 0..<times {
            for device in some ?? devices { await device.engine.looksSoon() }
            try await ReplicaDevice.meet(some ?? devices)
        }
    }

    /// Reads everything from the remote alone, on each device and on one that is new, and expects the same.
    func expectReadable(_ some: [ReplicaDevice]? = nil, _ comment: Comment? = nil) async throws {
        let late = try ReplicaDevice(0, number: 90 + UInt64.random(in: 0..<1 << 40), in: world)
        let all = (some ?? devices) + [late]
        try await ReplicaDevice.meet([late])
        var first: [String: String]?
        for device in all {
            let (tree, flaws) = try await onThread {
                _ = try device.vault.cache.evict(to: 0)
                let flaws = try device.flaws()
                return (try device.tree(), flaws)
            }
            #expect(flaws == [], comment)
            #expect(try await device.misplaced() == [], comment)
            #expect(tree == first ?? tree, comment)
            first = first ?? tree
            let findings = await device.engine.status.findings.map { "\($0)" }
            #expect(findings == [], comment)
            #expect(device.problems.all.isEmpty, comment)
        }
    }
}

extension MovingPlace {
    static func bytes(_ seed: UInt64, _ count: Int) -> [UInt8] {
        var random = SplitMix64(seed: seed)
        return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next() >> 20) }
    }

    /// Files of which most were replaced: one pack with little in use.
    func writeSparse() async throws {
        let owner = devices[0]
        try await onThread {
            for number in 0..<8 { try owner.write(Self.bytes(UInt64(number), 100_000), to: "file \(number)") }
        }
        try await ReplicaDevice.meet(devices)
        try await onThread {
            for number in 0..<6 {
                try owner.write(Self.bytes(100 + UInt64(number), 10_000), to: "file \(number)")
            }
        }
        try await ReplicaDevice.meet(devices)
    }

    /// A file with a tree of pages, and others in the same packs.
    func writeLarge() async throws {
        let owner = devices[0]
        try await onThread {
            try owner.write(Self.bytes(1, 60_000), to: "large")
            for part in 0..<40 {
                try owner.put(Self.bytes(UInt64(part), 5000), to: "large", at: Int64(part) * 70_000)
            }
            for number in 0..<30 {
                try owner.write(Self.bytes(50 + UInt64(number), 50_000), to: "\(number)")
            }
        }
    }

    /// Makes a file that shares the extents of another one.
    static func clone(_ name: String, as copy: String, on device: ReplicaDevice) throws {
        try device.write("", to: copy)
        _ = try device.vault.contents.copy(
            try device.number(name), at: 0, to: try device.number(copy), at: 0, count: 100_000, touches: true,
            by: Caller(user: 0, group: 0, umask: 0))
    }
}

/// A remote of which some packs can be hidden.
final class HidingRemote: ForwardingRemote {
    let base: any RemoteBackend
    private let shown = Mutex<Set<RemoteName>?>(nil)

    init(_ base: any RemoteBackend) { self.base = base }

    /// Hides all packs but some; nil shows all.
    func hide(allBut names: Set<RemoteName>?) { shown.withLock { $0 = names } }

    func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        let isHidden = shown.withLock { $0.map { !$0.contains(name) } ?? false }
        if isHidden, name.text.contains("/packs/") { throw .absent }
        return try await base.get(name, range)
    }
}

extension ReplicaDevice {
    /// Files whose extents lie elsewhere in the index than the facts state.
    func misplaced() async throws -> [String] {
        try await onThread { [vault] in
            try vault.exchanging.withLock { _ throws(FileSystemError) in
                defer { vault.facts.close() }
                return try vault.reading { state throws(FileSystemError) in
                    let tree = try state.factTree(StateHashKey(SymmetricKey<StateHashRole>.zero()))
                    var misplaced: [String] = []
                    for entry in try tree.store.entries(
                        shownIn: ItemID(low: vault.id.low, high: vault.id.high), after: nil, limit: .max)
                    {
                        guard let shown = try tree.store.entry(entry)?.showing,
                            let content = try tree.shownItem(shown.item)?.content,
                            let value = try? ContentValue(content.bytes.span.bytes),
                            let row = try state.row(shown.item, .regular)
                        else { continue }
                        switch value.extents {
                        case .entries(let entries):
                            let rows = try state.index.extents(of: row.number, overlapping: 0..<Int64.max)
                            let places = try rows.map { row throws(FileSystemError) in
                                row.remote == 0 ? nil : try state.index.remoteExtent(row.remote).place
                            }
                            if places != entries.map(\.place) { misplaced.append("\(shown.place.name)") }
                        case .tree(let root, _):
                            let pages = try state.index.pages(of: row.number)
                            if !pages.contains(where: { $0.reference == root.reference }) {
                                misplaced.append("\(shown.place.name)")
                            }
                        }
                    }
                    return misplaced
                }
            }
        }
    }
}

extension SyncEngine {
    /// Makes the next round look at the packs, and move, and ask again.
    func looksSoon() {
        packs.lookSoon()
        packs.asked(deletedCount: 1)
        packs.moves(from: [], at: 0)
    }

    /// How many places of contents facts state now.
    func allMoves() async throws -> Int {
        var (count, last) = (0, Register?.none)
        while true {
            let page = try await replica.values(after: last, limit: 100)
            guard let end = page.last else { return count }
            for values in page { count += values.values.count - values.values.contents.count }
            last = end.register
        }
    }
}
