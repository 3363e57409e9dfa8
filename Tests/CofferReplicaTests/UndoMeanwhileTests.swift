import CofferFormat
import CofferSystem
import CofferTestSupport
import RemoteConformance
import Synchronization
import Testing

@testable import CofferVault

/// What happens while an undo goes on, or ends it.
@Suite struct UndoMeanwhileTests {
    /// An undo that was stopped anywhere has changed nothing, and can be done again.
    @Test(arguments: [1, 2, 5, 10, 20]) func whatWasInterruptedIsDoneAgain(count: Int) async throws {
        let pair = try await UndoPair(isShown: count % 2 == 0, UndoPair.prepare)
        try await pair.stage(pair.bob, UndoPair.mess)
        let before = try await pair.settled()
        let calls = Mutex(0)
        await #expect(throws: FileSystemError.self) {
            _ = try await pair.undo(by: [pair.him]) { _, _ in
                calls.withLock { calls in
                    calls += 1
                    return calls < count
                }
            }
        }
        #expect(try await pair.settled() == before)
        let undone = try await pair.undo(by: [pair.him])
        #expect(undone.conflicts == [])
        let tree = try await pair.settled()
        for path in Set(tree.keys).union(pair.before.keys).sorted() where tree[path] != pair.before[path] {
            Issue.record("\(path): \(tree[path] ?? "nothing") was \(pair.before[path] ?? "nothing")")
        }
    }

    /// What programs write while an undo goes on stays.
    @Test func whatIsWrittenMeanwhileStays() async throws {
        let pair = try await UndoPair(UndoPair.prepare)
        try await pair.stage(pair.bob) {
            for name in ["e", "f", "g", "new"] { try $0.write("his", to: name) }
            try $0.remove("plans/a")
        }
        let undone = try await pair.undo(
            by: [pair.him],
            step: onceAnUndo(hasMadeAll: true, on: pair.alice) {
                for name in ["e", "g", "new"] { try $0.write("hers", to: name) }
            })
        #expect(undone.conflictPaths == ["e", "g", "new"])
        #expect(undone.conflicts.allSatisfy { $0.reason == .changedMeanwhile })
        for name in ["e", "g", "new"] { #expect(try await pair.read(name) == "hers") }
        #expect(try await pair.read("f") == "f as it was")
        _ = try await pair.settled()
    }

    /// The kernel has what a program wrote, and brings it when it is asked to: for the plan, or later.
    @Test(arguments: 1...2) func whatTheKernelHoldsStays(count: Int) async throws {
        let pair = try await UndoPair(UndoPair.prepare)
        try await pair.stage(pair.bob) { try $0.write("his", to: "f") }
        let number = try await onThread { try pair.alice.number("f") }
        let calls = Mutex(0)
        pair.alice.vault.setSink(
            RecordedChanges { [alice = pair.alice] item in
                let call = calls.withLock { calls in
                    calls += item == number ? 1 : 0
                    return item == number ? calls : 0
                }
                guard call == count else { return }
                do { try alice.put(Array("hers".utf8), to: "f", at: 0) } catch { Issue.record(error) }
            })
        let undone = try await pair.undo(by: [pair.him])
        #expect(calls.withLock { $0 } >= count)
        #expect(undone.steps == [])
        #expect(undone.conflicts.map(\.reason) == [count == 1 ? .changedByOthers : .changedMeanwhile])
        #expect(try await pair.read("f") == "hers")
    }

    /// A program takes the name of a file that is to come back: before its content is copied, or afterwards.
    @Test(arguments: [false, true], [false, true])
    func aNameThatWasTakenMeanwhileStays(isLate: Bool, isShown: Bool) async throws {
        let pair = try await UndoPair(isShown: isShown, UndoPair.prepare)
        try await pair.stage(pair.bob) { try $0.remove("f") }
        let undone = try await pair.undo(
            by: [pair.him],
            step: onceAnUndo(hasMadeAll: isLate, on: pair.alice) { try $0.write("hers", to: "f") })
        #expect(undone.conflicts.map(\.reason) == [.placeTaken])
        #expect(undone.conflictPaths == ["f"])
        #expect(try await pair.read("f") == "hers")
        let tree = try await pair.settled()
        #expect(!tree.keys.contains { $0.contains(".restoring") })
    }

    /// What cannot be fetched stays as it is, name and content; all else goes back, and later that, too.
    @Test func whatCannotBeFetchedWaits() async throws {
        let remote = MemoryRemote()
        let pair = try await UndoPair(at: remote) { device in
            for name in ["a", "b", "c"] { try device.write([UInt8](repeating: 7, count: 400_000), to: name) }
            try device.write("d", to: "d")
        }
        try await pair.stage(pair.bob) {
            for name in ["a", "b"] { try $0.write("his", to: name) }
            try $0.move("b", to: "moved")
            try $0.remove("c")
            try $0.move("d", to: "e")
        }
        try await onThread { [alice = pair.alice] in _ = try alice.vault.cache.evict(to: 0) }
        let before = try await pair.settled()
        try await onThread { [alice = pair.alice] in _ = try alice.vault.cache.evict(to: 0) }
        remote.become(.unreachable)
        let undone = try await pair.undo(by: [pair.him])
        remote.become(.well)
        #expect(undone.conflictPaths == ["a", "c", "moved"])
        #expect(undone.conflicts.allSatisfy { $0.reason == .unreadable })
        var expected = before
        expected["d"] = expected.removeValue(forKey: "e")
        #expect(try await pair.settled() == expected)
        let again = try await pair.undo(by: [pair.him])
        #expect(again.conflicts == [])
        #expect(try await pair.settled() == pair.before)
    }

    /// Places become free while contents are made: what could not change when it was looked at does not change.
    @Test func whatHadNoPlaceStays() async throws {
        let pair = try await UndoPair { device in
            try device.makeDirectory("D/")
            try device.write("x", to: "D/x")
            try device.write("f", to: "f")
        }
        try await pair.stage(pair.bob) {
            try $0.move("D/x", to: "x")
            try $0.remove("D/")
            try $0.write("his", to: "f")
        }
        try await pair.stage(pair.alice) { try $0.write("hers", to: "D") }
        let undone = try await pair.undo(
            by: [pair.him], step: onceAnUndo(hasMadeAll: false, on: pair.alice) { try $0.remove("D") })
        #expect(undone.stepPaths == ["f"])
        #expect(Set(undone.conflictPaths) == ["D", "x"])
        #expect(try await pair.read("x") == "x")
        #expect(pair.alice.vault.stoppedReason == nil)
        _ = try await pair.settled()
    }

    /// A file is changed for the first time while the undo looks around.
    @Test(arguments: 1...12) func whatIsFirstChangedMeanwhileStays(count: Int) async throws {
        let pair = try await UndoPair(UndoPair.prepare)
        try await pair.stage(pair.alice) { try $0.write("new", to: "plans/new") }
        let calls = Mutex(0)
        let undone = try await pair.undo(by: [.thisDevice]) { [alice = pair.alice] _, _ in
            let isNow = calls.withLock { calls in
                calls += 1
                return calls == count
            }
            if isNow {
                do { try alice.put(Array("X".utf8), to: "plans/b", at: 0) } catch { Issue.record(error) }
            }
            return true
        }
        #expect(pair.alice.vault.stoppedReason == nil)
        let text = try await pair.read("plans/b")
        let isKnown = undone.stepPaths.contains("plans/b")
        #expect(
            text == (isKnown || calls.withLock { $0 } < count ? "plans/b as it was" : "Xlans/b as it was"))
        _ = try await pair.settled()
    }

    /// Somebody removes the folder with which the undo works.
    @Test(arguments: [false, true]) func nothingChangesWithoutTheDrafts(isWhole: Bool) async throws {
        let pair = try await UndoPair(UndoPair.prepare)
        try await pair.stage(pair.bob, UndoPair.mess)
        let before = try await pair.settled()
        do {
            let step = onceAnUndo(hasMadeAll: true, on: pair.alice) { alice in
                let folder = try #require(try alice.names(in: "").first { $0.hasPrefix(".restoring-") })
                for name in try alice.names(in: folder) { try alice.remove("\(folder)/\(name)") }
                if isWhole { try alice.remove("\(folder)/") }
            }
            _ = try await pair.undo(by: [pair.him], step: step)
            Issue.record("The undo went on without its drafts")
        } catch {
            guard case FileSystemError.busy = error else { throw error }
        }
        #expect(try await pair.settled() == before)
        #expect(pair.alice.vault.stoppedReason == nil)
        #expect(try await pair.undo(by: [pair.him]).conflicts == [])
        #expect(try await pair.settled() == pair.before)
    }

    /// What the kernel brings only after a file was replaced or removed becomes a file of its own.
    @Test(arguments: ["f", "new"]) func whatTheKernelBringsLateIsKept(name: String) async throws {
        let pair = try await UndoPair(UndoPair.prepare)
        pair.alice.vault.setSink(RecordedChanges(releases: false))
        try await pair.stage(pair.bob) { try $0.write("his", to: name) }
        let number = try await onThread { try pair.alice.number(name) }
        _ = try await pair.undo(by: [pair.him])
        try await onThread { [alice = pair.alice] in
            let bytes = Array("late".utf8)
            try alice.vault.contents.write(
                bytes.span.bytes, to: number, at: 0, touches: true, dropsPrivileges: false)
        }
        var tree = try await pair.settled()
        let kept = try #require(tree.keys.first { pair.before[$0] == nil })
        #expect(try await pair.read(kept).hasPrefix("late"))
        tree[kept] = nil
        #expect(tree == pair.before)
    }

    /// A folder goes into a new one, which goes into another that is to go back into the first.
    @Test func aFolderDoesNotGoIntoItself() async throws {
        let pair = try await UndoPair { device in
            for name in ["P/", "P/X/"] { try device.makeDirectory(name) }
            try device.write("f", to: "f")
        }
        try await pair.stage(pair.bob) {
            try $0.move("P/X/", to: "X/")
            try $0.write("his", to: "f")
        }
        let undone = try await pair.undo(
            by: [pair.him],
            step: onceAnUndo(hasMadeAll: false, on: pair.alice) {
                try $0.makeDirectory("X/N/")
                try $0.move("P/", to: "X/N/P/")
            })
        #expect(pair.alice.vault.stoppedReason == nil)
        #expect(undone.stepPaths == ["f"])
        #expect(undone.conflicts.map(\.reason) == [.placeTaken])
        #expect(try await pair.settled()["X/N/P/"] != nil)
    }

    /// Somebody puts something into the folder with which the undo works.
    @Test(arguments: [false, true]) func whatIsPutBesideTheDraftsStays(isInside: Bool) async throws {
        let pair = try await UndoPair(UndoPair.prepare)
        try await pair.stage(pair.bob, UndoPair.mess)
        let before = try await pair.settled()
        let step = onceAnUndo(hasMadeAll: true, on: pair.alice) { alice in
            let folder = try #require(try alice.names(in: "").first { $0.hasPrefix(".restoring-") })
            let inner = try alice.names(in: folder).first { draft in
                try alice.vault.attributes(of: alice.number("\(folder)/\(draft)")).type == .directory
            }
            try alice.write(
                "hers", to: isInside ? "\(folder)/\(try #require(inner))/c" : "\(folder)/parked 0")
        }
        await #expect(throws: FileSystemError.self) { _ = try await pair.undo(by: [pair.him], step: step) }
        #expect(pair.alice.vault.stoppedReason == nil)
        var tree = try await pair.settled()
        let left = tree.keys.filter { $0.hasPrefix(".restoring-") }
        #expect(left.contains { $0.hasSuffix(isInside ? "/c" : "/parked 0") })
        for path in left { tree[path] = nil }
        #expect(tree == before)
    }
}
