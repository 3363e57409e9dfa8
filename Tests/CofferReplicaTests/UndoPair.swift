import CofferFormat
import CofferSystem
import CofferTestSupport
import RemoteConformance
import Synchronization
import Testing

@testable import CofferVault

/// Two devices of two people; the first one keeps a history, in which the present state is one.
struct UndoPair {
    let alice: ReplicaDevice
    let bob: ReplicaDevice
    let begin: Int64
    let before: [String: String]
    var devices: [ReplicaDevice] { [alice, bob] }
    /// Alice's device, as the facts know it.
    static let her = History.Author.device(LogID(low: 1, high: 7))
    /// Bob's device, as Alice's history knows it.
    let him = History.Author.device(LogID(low: 2, high: 7))

    /// - Parameter isShown: Whether a mount shows Alice's vault; another device's content is then another item.
    init(
        at remote: MemoryRemote = MemoryRemote(), isShown: Bool = false,
        _ prepare: @escaping @Sendable (ReplicaDevice) throws -> Void
    ) async throws {
        let world = try await ReplicaWorld.make(remote)
        let devices = [try ReplicaDevice(0, in: world), try ReplicaDevice(1, in: world)]
        (alice, bob) = (devices[0], devices[1])
        if isShown { alice.vault.setSink(RecordedChanges()) }
        try await onThread { [alice] in
            try prepare(alice)
            try alice.vault.history.set(.forever)
        }
        try await ReplicaDevice.meet(devices)
        (begin, before) = try await onThread { [alice] in
            try alice.vault.history.keepPresent()
            return (Clock.realTime, try UndoPair.tree(alice))
        }
    }

    /// Has people change something, and sync; what comes later belongs to another state.
    func stage(
        _ device: ReplicaDevice, _ body: @escaping @Sendable (ReplicaDevice) throws -> Void
    ) async throws {
        try await onThread { try body(device) }
        try await ReplicaDevice.meet(devices)
        try await onThread { [alice] in try alice.vault.history.keepPresent() }
    }

    func undo(
        by authors: Set<History.Author>, isRehearsal: Bool = false,
        step: @escaping @Sendable (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
    ) async throws -> Undo.Result {
        try await onThread { [alice, begin] in
            let view = try #require(try alice.vault.history.view(at: begin))
            defer { view.close() }
            // As people name a device: with all its logs.
            let all = authors.contains(.thisDevice) ? authors.union([UndoPair.her]) : authors
            return try alice.vault.undo.run(by: all, since: view, isRehearsal: isRehearsal, step: step)
        }
    }

    /// A file, as Alice has it.
    func read(_ path: String) async throws -> String {
        try await onThread { [alice] in try alice.read(path) }
    }

    /// Both devices have the same tree, and it is whole.
    func settled() async throws -> [String: String] {
        try await ReplicaDevice.meet(devices)
        return try await onThread { [alice, bob] in
            let (tree, other) = (try UndoPair.tree(alice), try UndoPair.tree(bob))
            #expect(tree == other)
            #expect(try alice.flaws() + bob.flaws() == [])
            return tree
        }
    }
}

extension UndoPair {
    /// All there is, without the times of directories, which say when names changed.
    static func tree(_ device: ReplicaDevice) throws -> [String: String] {
        var tree = try device.tree()
        for (path, text) in tree where path.hasSuffix("/") {
            var parts = text.split(separator: " ")
            parts.remove(at: 1)
            tree[path] = parts.joined(separator: " ")
        }
        return tree
    }

    /// Hashes of the contents of all files of a tree.
    static func contents(_ tree: [String: String]) -> Set<String> {
        let files = tree.filter { !$0.key.hasSuffix("/") }
        return Set(files.compactMap { $0.value.split(separator: " ").dropFirst(3).first.map(String.init) })
    }

    static func prepare(_ device: ReplicaDevice) throws {
        for directory in ["plans/", "plans/old/", "pictures/"] { try device.makeDirectory(directory) }
        for name in ["plans/a", "plans/b", "plans/old/c", "pictures/d", "e", "f", "g"] {
            try device.write("\(name) as it was", to: name)
        }
        try device.link("e", as: "plans/e too")
        try device.link("e", as: "pictures/e three")
        try device.setAttribute("user.color", to: "blue", of: "f")
        try device.make("link", mode: 0o120_777, target: "plans/a")
    }

    /// What Bob does in the tests: a folder goes, files are rewritten, names change and are exchanged.
    static func mess(_ device: ReplicaDevice) throws {
        for name in ["plans/old/c", "plans/old/", "plans/a", "link", "plans/e too"] {
            try device.remove(name)
        }
        try device.write("nonsense", to: "f")
        try device.setAttribute("user.color", to: "red", of: "f")
        try device.setMode(0o600, of: "pictures/d")
        // Two files get each other's names.
        try device.move("plans/b", to: "x")
        try device.move("g", to: "plans/b")
        try device.move("x", to: "g")
        try device.move("pictures/", to: "plans/pictures/")
        try device.makeDirectory("new/")
        try device.makeDirectory("new/inner/")
        try device.write("his", to: "new/inner/his")
        try device.write("more of him", to: "e")
        try device.link("f", as: "f too")
    }
}

/// Runs `body` on a device once: when an undo begins to make contents, or when it has made all of them.
func onceAnUndo(
    hasMadeAll: Bool, on device: ReplicaDevice, _ body: @escaping @Sendable (ReplicaDevice) throws -> Void
) -> @Sendable (_ done: Int, _ total: Int) -> Bool {
    let hasRun = Box(Mutex(false))
    return { done, total in
        let isNow = hasRun.value.withLock { hasRun in
            if hasRun || total == 0 || hasMadeAll && done < total { return false }
            hasRun = true
            return true
        }
        if isNow { do { try body(device) } catch { Issue.record(error) } }
        return true
    }
}

/// A value that closures share.
private final class Box<Value: ~Copyable & Sendable>: Sendable {
    let value: Value
    init(_ value: consuming Value) { self.value = value }
}

extension Undo.Result {
    var stepPaths: [String] { steps.map { String(decoding: $0.path, as: UTF8.self) } }
    var conflictPaths: [String] { conflicts.map { String(decoding: $0.path, as: UTF8.self) } }
}
