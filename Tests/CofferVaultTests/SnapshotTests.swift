import CofferFormat
import CofferStore
import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferVault

/// States with a name, which stay until it is removed.
///
/// `HistoryTests` has them in its stories.
@Suite struct SnapshotTests {
    private let test: TestVault
    private let vault: Vault
    private let file: Int64

    init() throws {
        test = try TestVault.create()
        vault = try test.open()
        try vault.history.set(.forever)
        file = try vault.makeFile("file", Array("first".utf8))
    }

    private func add(_ name: String, to vault: Vault? = nil) throws {
        try (vault ?? self.vault).history.addSnapshot(try #require(SnapshotName(name)))
    }

    private func remove(_ name: String) throws { try vault.history.removeSnapshot(Array(name.utf8)) }

    private func snapshots() throws -> [String] { try vault.history.snapshots().map(\.name) }

    /// The content of the file in a snapshot; nil if there is no such snapshot.
    private func text(_ snapshot: String, in vault: Vault? = nil) throws -> String? {
        guard let view = try (vault ?? self.vault).history.view(ofSnapshot: Array(snapshot.utf8)) else {
            return nil
        }
        defer { view.close() }
        let buffer = AlignedBuffer(count: 100)
        let count = try view.read(file, at: 0, count: 100, into: buffer)
        return String(decoding: buffer.withBytes(0..<count) { $0.array }, as: UTF8.self)
    }

    private func write(_ text: String) throws { try vault.put(Array(text.utf8), to: file) }

    private func fact(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: [
        "a", "before the move", "2026-11", "2026-11-20 draft", "Größe “x”", "a-", "...", ".hidden", "12",
        "1y", "h", "24:60", "2026-13-01", "2025-02-29", "nowhere", "Now", String(repeating: "x", count: 100),
        "a\u{301}", "99999999999999999999w",
    ])
    func names(name: String) throws {
        #expect(try #require(SnapshotName(name)).bytes == Array(name.utf8))
    }

    /// Times, also those that do not exist in some time zone, and what is no name of a folder.
    @Test(arguments: [
        "", ".", "..", "now", "a/b", "/", "a\u{0}b", "a\nb", "a\u{7F}", "\u{85}", "a\u{2028}b",
        String(repeating: "x", count: 101), String(repeating: "é", count: 51),
        "-", "-x", " a", "a ", "\u{200B}", "a\u{FEFF}", "\u{A0}", "2026-11-20", "2026-11-20T14:05",
        "2026-11-20 14:05", "2026-11-20T14:05:37.5Z", "14:05", "02:30:00",
        "2026-03-29T02:30", "0s", "30m", "2h", "3d", "1w", "2024-02-29",
    ])
    func notNames(name: String) {
        #expect(SnapshotName(name) == nil)
    }

    @Test func aSnapshotStaysUntilItIsRemoved() throws {
        try add("first")
        for text in ["second", "third!", "fourth"] {
            try write(text)
            try vault.history.keepPresent()
        }
        try write("fifth!")
        let later = Clock.realTime + 400 * 24 * 3_600_000_000_000
        try vault.history.set(.seconds(1))
        try vault.history.thin(at: later)
        // The last one stays in any case.
        #expect(try vault.history.states().count == 2)
        _ = try vault.repacking.compact()
        #expect(try text("first") == "first")
        #expect(try vault.check { _, _ in }.damage.map(\.text) == [])
        try remove("first")
        #expect(try text("first") == nil)
        try vault.history.thin(at: later)
        #expect(try vault.history.states().count == 1)
        #expect(try vault.check { _, _ in }.damage.map(\.text) == [])
    }

    /// The state of each is that of its moment, whenever a change follows, and however often the vault is opened.
    @Test func namesOfOneState() throws {
        try add("one")
        try add("two")
        let before = try vault.history.snapshots()
        #expect(before.map(\.name) == ["one", "two"] && before[0].state == before[1].state)
        #expect(before[0].state?.until == .max)
        #expect(try vault.history.states().count == 1)
        #expect(try text("one") == "first" && text("two") == "first")
        try vault.close()
        let again = try test.open()
        #expect(try again.history.snapshots() == before)
        #expect(try text("two", in: again) == "first")
        _ = try again.makeFile("other")
        try again.put(Array("later".utf8), to: file)
        try add("three", to: again)
        try again.put(Array("last!".utf8), to: file)
        let after = try again.history.snapshots()
        #expect(after.map(\.name) == ["one", "two", "three"])
        let states = after.compactMap(\.state)
        try #require(states.count == 3)
        #expect(states[0].number == before[0].state?.number && states[0] == states[1])
        #expect(states[0].until < .max && states[2].number > states[1].number)
        #expect(try text("one", in: again) == "first" && text("three", in: again) == "later")
        #expect(try again.check { _, _ in }.damage.map(\.text) == [])
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func aSnapshotIsOnTheDisk(seed: UInt64) throws {
        try add("name")
        let left = try test.crashed(seed: seed).open()
        #expect(try text("name", in: left) == "first")
        try left.history.removeSnapshot(Array("name".utf8))
        #expect(try left.history.view(ofSnapshot: Array("name".utf8)) === nil)
    }

    @Test func whatIsRefused() throws {
        try add("name")
        try write("second")
        #expect(fact { try add("name") } == "alreadyExists")
        #expect(fact { try remove("nam") } == "notFound")
        // An accent may be written in two ways, which are two names.
        try add("e\u{301}")
        #expect(fact { try remove("\u{e9}") } == "notFound")
        try remove("e\u{301}")
        #expect(fact { try vault.history.set(.none) } == "busy")
        #expect(try vault.history.isOn && snapshots() == ["name"])
        #expect(try text("name") == "first" && vault.stoppedReason == nil)
        try remove("name")
        try vault.history.set(.none)
        #expect(fact { try add("name") } == "notSupported")
        #expect(fact { try remove("name") } == "notFound")
        #expect(try snapshots() == [] && text("name") == nil)
        #expect(try vault.check { _, _ in }.damage.map(\.text) == [])
    }

    @Test func withoutHistory() throws {
        let vault = try TestVault.create().open()
        #expect(fact { try add("name", to: vault) } == "notSupported")
        #expect(fact { try vault.history.removeSnapshot([97]) } == "notFound")
        #expect(try vault.history.snapshots() == [])
        #expect(try vault.history.view(ofSnapshot: [97]) === nil)
    }

    /// `coffer check` misses the state of a snapshot.
    @Test(arguments: [true, false])
    func aMissingState(isPast: Bool) throws {
        try add("name")
        try write("second")
        try vault.changing { state throws(FileSystemError) in
            let row = try state.index.snapshots()[0]
            if isPast {
                let moment = try state.index.moment(row.moment)
                if let moment { try state.index.remove(moment) }
            } else {
                var other = row
                other.moment += 2
                try state.index.remove(row)
                try state.index.insert(other)
            }
        }
        try vault.commitIndex()
        let damage = try vault.check { _, _ in }.damage.map(\.text)
        #expect(damage == ["The state of a snapshot is missing: snapshot 1."])
        #expect(fact { _ = try text("name") } != nil)
        // It is listed, and can be removed.
        #expect(try vault.history.snapshots().map(\.state) == [nil])
        try remove("name")
        #expect(try vault.check { _, _ in }.damage.map(\.text) == [])
    }
}
