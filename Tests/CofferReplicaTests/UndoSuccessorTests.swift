import CofferFormat
import CofferStore
import CofferSystem
import CofferTestSupport
import RemoteConformance
import Testing

@testable import CofferVault

/// Whose an item is, and what has taken the place of another.
@Suite struct UndoSuccessorTests {
    private static func save(_ text: String, as path: String, on device: ReplicaDevice) throws {
        try device.write(text, to: "\(path).new")
        try device.move("\(path).new", to: path)
    }

    /// An editor saves a file as a new one.
    ///
    /// It does not go if the old one does not come back.
    @Test(arguments: [false, true]) func aSavedFileOutlastsItsPredecessor(isShown: Bool) async throws {
        let pair = try await UndoPair(isShown: isShown, UndoPair.prepare)
        try await onThread { try pair.alice.put(Array("hers".utf8), to: "f", at: 2) }
        try await ReplicaDevice.meet(pair.devices)
        try await pair.stage(pair.bob) {
            try Self.save("his", as: "f", on: $0)
            try Self.save("his", as: "g", on: $0)
        }
        let undone = try await pair.undo(by: [pair.him])
        #expect(undone.conflictPaths == ["f"])
        #expect(undone.stepPaths.contains("g"))
        #expect(try await pair.read("f") == "his")
        #expect(try await pair.read("g") == "g as it was")
        _ = try await pair.settled()
    }

    @Test func aSavedFileOutlastsAPredecessorThatCannotBeFetched() async throws {
        let remote = MemoryRemote()
        let pair = try await UndoPair(at: remote) { device in
            try device.write([UInt8](repeating: 7, count: 400_000), to: "f")
        }
        try await pair.stage(pair.bob) { try Self.save("his", as: "f", on: $0) }
        try await onThread { [alice = pair.alice] in _ = try alice.vault.cache.evict(to: 0) }
        remote.become(.unreachable)
        let undone = try await pair.undo(by: [pair.him])
        remote.become(.well)
        #expect(undone.conflicts.map(\.reason) == [.unreadable])
        #expect(undone.steps == [])
        #expect(try await pair.read("f") == "his")
        #expect(try await pair.undo(by: [pair.him]).conflicts == [])
        #expect(try await pair.settled() == pair.before)
    }

    /// What looks the same from outside is not taken for what was there.
    @Test(arguments: [false, true]) func aLinkThatWasReplacedComesBack(isShown: Bool) async throws {
        let pair = try await UndoPair(isShown: isShown, UndoPair.prepare)
        try await pair.stage(pair.bob) {
            try $0.make("link.new", mode: 0o120_777, target: "plans/b")
            try $0.move("link.new", to: "link")
        }
        let undone = try await pair.undo(by: [pair.him])
        #expect(undone.conflicts == [])
        #expect(try await pair.settled() == pair.before)
    }

    /// A folder that was put in the place of another goes back, and the other one, too.
    @Test(arguments: [false, true]) func aFolderThatWasReplacedComesBack(isShown: Bool) async throws {
        let pair = try await UndoPair(isShown: isShown, UndoPair.prepare)
        try await pair.stage(pair.bob) {
            for name in ["plans/old/c", "plans/old/"] { try $0.remove(name) }
            try $0.move("pictures/", to: "plans/old/")
        }
        let undone = try await pair.undo(by: [pair.him])
        #expect(undone.conflicts == [])
        #expect(try await pair.settled() == pair.before)
    }

    /// All that one device did is taken back; it is the same device that does that, and does it again.
    @Test(arguments: [false, true]) func anUndoneFolderIsLeftAlone(isShown: Bool) async throws {
        let pair = try await UndoPair(isShown: isShown, UndoPair.prepare)
        try await pair.stage(pair.alice, UndoPair.mess)
        #expect(try await pair.undo(by: [.thisDevice]).conflicts == [])
        #expect(try await pair.settled() == pair.before)
        _ = try await pair.undo(by: [.thisDevice])
        #expect(try await pair.settled() == pair.before)
    }

    /// Who made an item is known after the states between its making and a change of it have gone.
    @Test(arguments: [false, true]) func whatOthersMadeStays(isShown: Bool) async throws {
        let pair = try await UndoPair(isShown: isShown, UndoPair.prepare)
        try await pair.stage(pair.alice) {
            try $0.write("hers", to: "made")
            try $0.makeDirectory("folder/")
        }
        try await pair.stage(pair.bob) {
            try $0.put(Array("his!".utf8), to: "made", at: 0)
            try $0.write("his", to: "folder/his")
        }
        try await pair.stage(pair.alice) { try $0.write("later", to: "later") }
        try await onThread {
            let history = pair.alice.vault.history
            try history.keep(only: [try #require(try history.states().first).number])
        }
        let undone = try await pair.undo(by: [pair.him])
        // In one state, nobody knows whose change came first.
        #expect(undone.conflictPaths == ["folder", "made"])
        #expect(try await pair.read("made") == "his!")
        let tree = try await pair.settled()
        #expect(tree["folder/"] != nil && tree["folder/his"] == nil)
    }

    /// A program goes on writing to a file that another device has replaced, which makes two of it.
    @Test func aFileThatBecameTwoComesBack() async throws {
        let pair = try await UndoPair(UndoPair.prepare)
        pair.alice.vault.setSink(RecordedChanges(releases: false))
        let number = try await onThread { try pair.alice.number("f") }
        try await pair.stage(pair.bob) { try $0.write("his", to: "f") }
        try await pair.stage(pair.alice) { device in
            let bytes = Array("hers".utf8)
            try device.vault.contents.write(
                bytes.span.bytes, to: number, at: 0, touches: true, dropsPrivileges: false)
        }
        let undone = try await pair.undo(by: [pair.him])
        #expect(undone.stepPaths == ["f"])
        #expect(try await pair.read("f") == "f as it was")
        var tree = try await pair.settled()
        let copy = try #require(tree.keys.first { $0.hasPrefix("f (conflict") })
        #expect(try await pair.read(copy).hasPrefix("hers"))
        tree[copy] = nil
        #expect(tree == pair.before)
    }
}
