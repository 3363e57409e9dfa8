import CofferSystem
import CofferTestSupport
import Foundation
import Testing

import CofferVault

/// Reads that are in flight while the vault does something else.
@Suite struct ScatteredReadTests {
    private static let pageCount = 768
    /// Pages away from each other.
    private static let pages = (0..<40).map { 3 + $0 * 353 % 700 }

    private let bytes = Pattern.make(pageCount * 4096)
    private let disk: DiskVault
    private let number: Int64

    init() throws {
        disk = try DiskVault()
        number = try disk.vault.makeFile("a", bytes)
        try disk.vault.commit()
    }

    private func page(_ page: Int, of bytes: [UInt8]) -> DiskVault.Answer {
        .bytes(Array(bytes[page * 4096..<(page + 1) * 4096]))
    }

    /// Starts reads, which are then in flight; skips the test where this machine has no such reads.
    private func ask() throws -> [DiskVault.Asked] {
        let asked = try disk.ask(number, pages: Self.pages)
        guard asked.contains(where: { $0.isInFlight }) else {
            let answers = try disk.answers(asked)
            #expect(answers == Self.pages.map { page($0, of: bytes) })
            try Test.cancel("this machine starts no asynchronous reads past the page cache")
        }
        let areAll = asked.allSatisfy(\.isInFlight)
        #expect(areAll)
        return asked
    }

    @Test func allReadsGetTheirOwnBytes() throws {
        let asked = try ask()
        #expect(try disk.answers(asked) == Self.pages.map { page($0, of: bytes) })
        try disk.vault.close()
    }

    /// More reads at once than fit.
    @Test func noReadIsLostIfThereAreTooMany() throws {
        let pages = (0..<ReadsInFlight.countMax + 20).map { 1 + $0 * 353 % 760 }
        let asked = try disk.ask(number, pages: pages)
        #expect(disk.flights.count <= ReadsInFlight.countMax)
        #expect(try disk.answers(asked) == pages.map { page($0, of: bytes) })
    }

    /// The last block of a file, and parts of blocks.
    @Test func theEndOfAFile() throws {
        let short = try disk.vault.makeFile("b", Array(bytes.prefix(300_001)))
        try disk.vault.commit()
        let asked = try disk.ask(short, pages: [20, 73])
        #expect(
            try disk.answers(asked) == [page(20, of: bytes), .bytes(Array(bytes[73 * 4096..<300_001]))])
    }

    @Test func anErrorHitsOnlyItsRead() throws {
        let failing: Set = [0, 7, 8, 31]
        disk.directory.hurts.fail(started: failing)
        let asked = try ask()
        let answers = try disk.answers(asked)
        for (index, answer) in answers.enumerated() {
            if failing.contains(index) {
                #expect(answer == .failure("system"))
            } else {
                #expect(answer == page(Self.pages[index], of: bytes))
            }
        }
    }

    /// A pack that ends too early: reads past its end fail, and everything else is read.
    @Test func aPackThatWasCut() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: disk.packs)
        #expect(names.count == 1)
        for name in names { #expect(truncate("\(disk.packs)/\(name)", 1 << 20) == 0) }
        let asked = try disk.ask(number, pages: Self.pages)
        for (answer, place) in zip(try disk.answers(asked), Self.pages) {
            if place < 240 {
                #expect(answer == page(place, of: bytes))
            } else if place > 256 {
                #expect(answer == .failure("damaged"))
            }
        }
        #expect(!disk.vault.reported.isEmpty)
    }

    enum Change: CaseIterable {
        case write, truncate, remove, punch, compact
    }

    /// A read that began before a change gets the old bytes or the new state, and one that begins after it
    /// only the new one.
    @Test(arguments: Change.allCases)
    func contentThatChangesMeanwhile(change: Change) throws {
        let before = try ask()
        let vault = disk.vault
        let new = Pattern.make(Self.pageCount * 4096, seed: 2)
        var expected: ((Int) -> DiskVault.Answer)?
        switch change {
        case .write:
            try vault.put(new, to: number)
            expected = { page($0, of: new) }
        case .truncate:
            try vault.truncate(number, to: 4096)
            expected = { _ in .bytes([]) }
        case .remove:
            try vault.remove("a")
        case .punch:
            try vault.contents.allocate(
                .punchHole, of: number, 0..<Int64(bytes.count), touches: true, by: TestVault.owner)
            expected = { _ in .bytes([UInt8](repeating: 0, count: 4096)) }
        case .compact:
            // Most of the first pack is waste, so that compaction moves the rest, and removes the pack.
            let pack = try FileManager.default.contentsOfDirectory(atPath: disk.packs)
            disk.directory.hurts.hasHoles = false
            for index in 0..<8 { _ = try vault.makeFile("\(index)", new) }
            try vault.commit()
            for index in 0..<8 { try vault.remove("\(index)") }
            try vault.commit()
            #expect(try vault.compact() == false)
            try vault.commit()
            let left = try FileManager.default.contentsOfDirectory(atPath: disk.packs)
            #expect(pack.count == 1 && !left.contains(pack[0]))
            expected = { page($0, of: bytes) }
        }
        // Returns the space of the old bytes.
        try vault.commit()
        let after = expected == nil ? [] : try disk.ask(number, pages: Self.pages)
        for (answer, place) in zip(try disk.answers(before), Self.pages) {
            let isOld = answer == page(place, of: bytes)
            let isNew = expected.map { $0(place) == answer } ?? (answer == .failure("stale"))
            #expect(isOld || isNew, "page \(place) after \(change)")
        }
        for (answer, place) in zip(try disk.answers(after), Self.pages) {
            #expect(answer == expected?(place), "page \(place) after \(change)")
        }
        #expect(vault.reported == [])
        try vault.close()
    }

    /// Closing a vault leaves no request without an answer.
    @Test func aVaultClosedDuringReads() throws {
        let asked = try ask()
        try disk.vault.close()
        #expect(try disk.answers(asked) == Self.pages.map { page($0, of: bytes) })
    }

    /// Once the disk has been slow, threads wait for it, and the caller does not.
    @Test func readsOfASlowDiskAreLeftToThreads() throws {
        // Small extents do not go past the page cache.
        let names = try (0..<20).map {
            try disk.vault.makeFile("\($0)", Array(bytes[$0 * 4096..<20_000 + $0 * 4096]))
        }
        try disk.vault.commit()
        // More than the tail has room for, so that the small ones are in their pack.
        _ = try disk.vault.makeFile("more", bytes)
        try disk.vault.commit()
        disk.directory.hurts.isSlow = true
        let buffer = AlignedBuffer(count: 20_000)
        var requests: [AwaitedRead] = []
        for (index, name) in names.enumerated() {
            let got = try disk.vault.contents.read(name, at: 0, count: 20_000, into: buffer, in: disk.flights)
            {
                let made = AwaitedRead()
                requests.append(made)
                return made
            }
            let expected = Array(bytes[index * 4096..<20_000 + index * 4096])
            if let got {
                let found = buffer.withBytes(0..<got) { $0.array }
                #expect(found == expected)
            } else {
                let found = try requests.last?.wait()
                #expect(found == expected)
            }
        }
        // The first read detects that the disk is slow; later ones may detect it again after a pause of this machine.
        #expect(requests.count < names.count)
        #expect(requests.count > names.count / 2)
        disk.directory.hurts.isSlow = false
        try disk.vault.close()
    }
}
