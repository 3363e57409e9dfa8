import CofferFormat
import CofferStore
import CofferSystem
import CofferTestSupport
import Foundation
import Testing

@testable import CofferVault

/// Past states of a vault, compared with what the vault was at those times.
@Suite struct HistoryTests {
    /// A commit has its states, or did not happen.
    @Test(arguments: 0..<6 as Range<UInt64>)
    func powerCuts(seed: UInt64) throws {
        let story = try Story(seed: 1000 + seed)
        for _ in 0..<8 {
            for _ in 0..<6 {
                for _ in 0..<1 + story.random.below(6) { try story.change() }
                if story.random.oneIn(2) { try story.vault.commit() }
                if story.random.oneIn(6) { try story.name() }
            }
            try story.remember()
            if story.random.oneIn(3) { try story.name() }
            for _ in 0..<story.random.below(4) { try story.change() }
            if story.random.oneIn(2) { try story.vault.commit() }
            story.crash(seed: story.random.next())
            try story.compare()
            try story.check()
        }
    }

    /// Content that is sent while a version has a part of it stays readable when the file loses the rest.
    @Test func aPartOfSentContent() throws {
        let devices = try TwoDevices()
        let vault = devices.a
        var random = SplitMix64(seed: 1)
        let bytes = random.bytes(200_000)
        let number = try vault.makeFile("file", bytes)
        try vault.history.set(.forever)
        let time = Clock.realTime
        usleep(20)
        try vault.put(random.bytes(100_000), to: number, at: 0)
        try vault.commitIndex()
        _ = try devices.a.send(number, to: devices.remote)
        // The part that the file still has is evicted. A commit would say that the content is sent.
        try vault.state.withLock { try $0.tree.item(number).row.unsent = [] }
        #expect(try vault.cache.evict(to: 0) == 0)
        try vault.commitIndex()
        try vault.history.keepPresent()
        // Now the version has all of it, and the file nothing.
        try vault.truncate(number, to: 0)
        try vault.put(random.bytes(10), to: number, at: 0)
        try vault.commitIndex()
        _ = try devices.a.send(number, to: devices.remote)
        _ = try vault.repacking.compact()
        let view = try #require(try vault.history.view(at: time))
        defer { view.close() }
        let buffer = AlignedBuffer(count: 200_000)
        #expect(try view.read(number, at: 0, count: 200_000, into: buffer) == 200_000)
        #expect(buffer.withBytes(0..<200_000) { $0.array } == bytes)
        #expect(try vault.check { _, _ in }.damage.map(\.text) == [])
    }

    /// Programs change the vault, others look at its past, and states go, all at once.
    @Test(arguments: [UInt64(1), 2, 3])
    func changesWhileStatesGo(seed: UInt64) throws {
        let story = try Story(seed: 2000 + seed)
        let vault = story.vault
        let isDone = Condition(false)
        let failures = Condition([String]())
        func begin(_ name: String, _ body: @escaping @Sendable () throws -> Void) throws
            -> CofferSystem.Thread
        {
            try CofferSystem.Thread.start(name) {
                while !isDone.withLock({ $0 }) {
                    do { try body() } catch { failures.withLock { $0.append("\(name): \(error)") } }
                }
            }
        }
        let threads = [
            try begin("thins") { try vault.history.keep(only: []) },
            try begin("names") {
                try vault.history.addSnapshot(try #require(SnapshotName("name")))
                let walks = try (0..<2).map { _ in
                    usleep(1000)
                    let view = try #require(try vault.history.view(ofSnapshot: Array("name".utf8)))
                    defer { view.close() }
                    return try Self.walk(view)
                }
                if walks[0] != walks[1] { failures.withLock { $0.append("\(walks[0]) became \(walks[1])") } }
                try vault.history.removeSnapshot(Array("name".utf8))
            },
            try begin("looks") {
                guard let view = try vault.history.view(at: .max) else { return }
                defer { view.close() }
                // Each name leads to an item of that state, and what is looked at stays as it is.
                let first = try Self.walk(view)
                usleep(2000)
                let second = try Self.walk(view)
                if first != second { failures.withLock { $0.append("\(first) became \(second)") } }
            },
        ]
        for _ in 0..<1500 {
            try story.change()
            if story.random.oneIn(20) { try vault.commit() }
        }
        isDone.withLock { $0 = true }
        for thread in threads { thread.join() }
        #expect(failures.withLock { $0 } == [])
        #expect(vault.stoppedReason == nil)
        // The last state stays, as its moment may still get versions.
        try vault.history.keep(only: [])
        #expect(try vault.history.states().count == 1)
        try story.check()
    }

    private static func walk(
        _ view: HistoryView, _ directory: Int64 = Vault.rootNumber, _ path: String = ""
    ) throws -> [String] {
        try view.entries(of: directory).flatMap { entry in
            let item = try view.attributes(of: entry.item)
            let name = "\(path)/\(String(decoding: entry.name, as: UTF8.self))"
            let inner = item.type == .directory ? try walk(view, entry.item, name) : []
            return ["\(name) \(item.number) \(item.size) \(item.modified)"] + inner
        }
    }

    @Test func restoring() throws {
        let story = try Story(seed: 5)
        let vault = story.vault
        let folder = try vault.makeDirectory("folder")
        let one = try vault.makeFile("one", in: folder, Array("one".utf8))
        _ = try vault.link(one, as: Array("link".utf8), in: folder)
        try vault.setExtendedAttribute(Array("user.x".utf8), of: one, to: [1, 2], .any)
        let big = try vault.makeFile("big", in: folder)
        try vault.put(Array("end".utf8), to: big, at: 3_000_000)
        let same = try vault.makeFile("same", in: folder, Array("same".utf8))
        try vault.history.keepPresent()
        let time = Clock.realTime
        let before = try story.present(folder, "folder")
        usleep(20)
        for name in ["one", "link"] { try vault.remove(name, in: folder) }
        try vault.put([1, 2, 3], to: big, at: 5)
        _ = try vault.makeFile("new", in: folder)
        try vault.history.keepPresent()
        let changed = Clock.realTime
        usleep(20)
        let view = try #require(try vault.history.view(at: time))
        defer { view.close() }
        let restored = try vault.history.restore(Array("folder".utf8), from: view, isExact: false)
        #expect(restored.items == 3 && restored.unchanged == 1 && restored.removed == 0)
        // What was replaced is in the history.
        let replaced = try #require(try vault.history.view(at: changed))
        #expect(throws: FileSystemError.self) { try replaced.item(atPath: Array("folder/one".utf8)) }
        #expect(try replaced.item(atPath: Array("folder/big".utf8)).number == big)
        replaced.close()
        #expect(try vault.number(of: "same", in: folder) == same)
        func withoutNumbers(_ items: [String: Seen]) -> [String: Seen] {
            items.mapValues { item in
                var item = item
                item.number = 0
                return item
            }
        }
        var after = try story.present(folder, "folder")
        #expect(after.removeValue(forKey: "folder/new") != nil)
        #expect(withoutNumbers(after) == withoutNumbers(before))
        #expect(try vault.number(of: "one", in: folder) == vault.number(of: "link", in: folder))
        // Once more, it is the same already.
        let again = try vault.history.restore(Array("folder/big".utf8), from: view, isExact: false)
        #expect(again == .init(items: 0, unchanged: 1, removed: 0, kept: 0, bytes: 0))
        let exact = try vault.history.restore(Array("folder".utf8), from: view, isExact: true)
        #expect(exact.removed == 1)
        #expect(try withoutNumbers(story.present(folder, "folder")) == withoutNumbers(before))
        #expect(throws: FileSystemError.self) {
            try vault.history.restore(Array("none".utf8), from: view, isExact: false)
        }
        // A file that is a directory now is not replaced by the way.
        try vault.remove("same", in: folder)
        _ = try vault.makeFile("inner", in: vault.makeDirectory("same", in: folder))
        #expect(throws: FileSystemError.self) {
            try vault.history.restore(Array("folder/same".utf8), from: view, isExact: false)
        }
        #expect(try vault.names(in: vault.number(of: "same", in: folder)) == ["inner"])
        _ = try vault.history.restore(Array("folder/same".utf8), from: view, isExact: true)
        #expect(try vault.content(of: vault.number(of: "same", in: folder)) == Array("same".utf8))
        try story.check()
    }

    /// No state has what programs make while a restore goes on, so it stays.
    @Test func whatComesMeanwhileStays() throws {
        let story = try Story(seed: 6)
        let vault = story.vault
        let folder = try vault.makeDirectory("folder")
        for name in ["a", "b", "c"] { _ = try vault.makeFile(name, in: folder, Array("before".utf8)) }
        let last = try vault.makeDirectory("last", in: folder)
        try vault.history.keepPresent()
        let time = Clock.realTime
        usleep(20)
        for name in ["a", "b", "c"] {
            try vault.put(Array("after".utf8), to: vault.number(of: name, in: folder), at: 0)
        }
        let inner = try vault.makeDirectory("inner", in: folder)
        _ = try vault.makeFile("old", in: inner)
        try vault.history.keepPresent()
        let view = try #require(try vault.history.view(at: time))
        defer { view.close() }
        var made = false
        let restored = try vault.history.restore(Array("folder".utf8), from: view, isExact: false) { _ in
            if made { return true }
            made = true
            do {
                // A program saves a file as many do, and makes others.
                _ = try vault.makeFile("draft", in: folder, Array("new".utf8))
                _ = try vault.rename(
                    Array("draft".utf8), in: folder, to: Array("c".utf8), in: folder, .replace)
                _ = try vault.makeFile("new", in: inner, Array("new".utf8))
            } catch {
                Issue.record(error)
            }
            return true
        }
        #expect(restored.kept == 1 && restored.items == 2)
        for (name, text) in [("a", "before"), ("b", "before"), ("c", "new")] {
            #expect(try vault.content(of: vault.number(of: name, in: folder)) == Array(text.utf8))
        }
        // What was there when the restore began goes.
        made = false
        let exact = try vault.history.restore(Array("folder".utf8), from: view, isExact: true) { _ in
            if made { return true }
            made = true
            do { _ = try vault.makeFile("late", in: last, Array("new".utf8)) } catch { Issue.record(error) }
            return true
        }
        #expect(exact.kept == 1 && exact.removed == 3 && exact.items == 1)
        #expect(try vault.content(of: vault.number(of: "late", in: last)) == Array("new".utf8))
        try story.check()
    }

    /// What is put into a directory changes its times, so these come back last.
    @Test func directoriesOnTheWayHaveTheirTimes() throws {
        let story = try Story(seed: 8)
        let vault = story.vault
        let outer = try vault.makeDirectory("outer")
        let inner = try vault.makeDirectory("inner", in: outer)
        _ = try vault.makeFile("file", in: inner, Array("text".utf8))
        _ = try vault.makeFile("other", in: inner)
        var times = AttributeChanges()
        for (number, time) in [(inner, Int64(1_000)), (outer, 2_000)] {
            times.modified = .at(time)
            _ = try vault.setAttributes(of: number, times)
        }
        try vault.history.keepPresent()
        let time = Clock.realTime
        usleep(20)
        for name in ["file", "other"] { try vault.unlink(Array(name.utf8), in: inner) }
        try vault.removeDirectory(Array("inner".utf8), in: outer)
        try vault.removeDirectory(Array("outer".utf8), in: Vault.rootNumber)
        try vault.history.keepPresent()
        let view = try #require(try vault.history.view(at: time))
        defer { view.close() }
        _ = try vault.history.restore(Array("outer/inner/file".utf8), from: view, isExact: false)
        let again = try vault.number(of: "outer", in: Vault.rootNumber)
        #expect(try vault.attributes(of: again).modified == 2_000)
        let deeper = try vault.number(of: "inner", in: again)
        #expect(try vault.attributes(of: deeper).modified == 1_000)
        #expect(try vault.names(in: deeper) == ["file"])
        try story.check()
    }

    @Test(arguments: [false, true])
    func aRestoreOfAllGivesTheRootItsAttributes(isExact: Bool) throws {
        let story = try Story(seed: 9)
        let vault = story.vault
        func change(_ mode: UInt32, modified: Int64, _ attributes: [(name: String, value: [UInt8])]) throws {
            var changes = AttributeChanges()
            (changes.mode, changes.modified) = (mode, .at(modified))
            _ = try vault.setAttributes(of: Vault.rootNumber, changes)
            for (name, value) in attributes {
                try vault.setExtendedAttribute(Array(name.utf8), of: Vault.rootNumber, to: value, .any)
            }
        }
        try change(0o750, modified: 1_000, [("user.kept", [1]), ("user.gone", [2])])
        let before = try vault.attributes(of: Vault.rootNumber)
        try vault.history.keepPresent()
        let time = Clock.realTime
        usleep(20)
        try change(0o700, modified: 2_000, [("user.kept", [3]), ("user.new", [4])])
        try vault.removeExtendedAttribute(Array("user.gone".utf8), of: Vault.rootNumber)
        try vault.history.keepPresent()
        let view = try #require(try vault.history.view(at: time))
        defer { view.close() }
        _ = try vault.history.restore([], from: view, isExact: isExact)
        let after = try vault.attributes(of: Vault.rootNumber)
        #expect(after.hasSameRights(as: before) && after.modified == before.modified)
        #expect(
            try vault.extendedAttributeNames(of: Vault.rootNumber).map { String(decoding: $0, as: UTF8.self) }
                .sorted()
                == ["user.gone", "user.kept"])
        #expect(try vault.extendedAttribute(Array("user.kept".utf8), of: Vault.rootNumber) == [1])
        #expect(try vault.extendedAttribute(Array("user.gone".utf8), of: Vault.rootNumber) == [2])
        try story.check()
    }

    @Test func anInterruptedRestoreLeavesNoDraft() throws {
        let story = try Story(seed: 7)
        let vault = story.vault
        let file = try vault.makeFile("file", [UInt8](repeating: 1, count: 3_000_000))
        try vault.history.keepPresent()
        let time = Clock.realTime
        usleep(20)
        try vault.put([2], to: file, at: 0)
        try vault.history.keepPresent()
        let view = try #require(try vault.history.view(at: time))
        defer { view.close() }
        #expect(throws: FileSystemError.self) {
            try vault.history.restore(Array("file".utf8), from: view, isExact: false) { _ in false }
        }
        #expect(try vault.names(in: Vault.rootNumber) == ["file"])
        #expect(try vault.number(of: "file", in: Vault.rootNumber) == file)
        try story.check()
    }

    /// All of the last day, then one for each hour, day, and week; nothing beyond the limit.
    @Test func theOlderTheFewer() throws {
        let minute: Int64 = 60_000_000_000
        let now = 400 * 24 * 60 * minute
        let moments = (0..<60 * 24 * 60).map { number in
            let time = now - Int64(60 * 24 * 60 - number) * minute
            return MomentRow(
                number: Int64(number + 1), since: time, begun: time, nextItem: 1, nextCookie: 1)
        }
        let kept = History.kept(moments, for: -1, at: now)
        func count(_ days: Range<Int>) -> Int {
            moments.filter { moment in
                kept.contains(moment.number)
                    && days.contains(Int((now - moment.begun - 1) / (24 * 60 * minute)))
            }.count
        }
        #expect(count(0..<1) == 24 * 60)
        #expect((24 * 6...24 * 6 + 1).contains(count(1..<7)))
        #expect((53...54).contains(count(7..<60)))
        let limited = History.kept(moments, for: 2 * 24 * 3600, at: now)
        #expect(
            moments.first { limited.contains($0.number) }.map { now - $0.begun <= 2 * 24 * 60 * minute }
                == true)
        #expect(History.kept(moments, for: 0, at: now).isEmpty)
        // The last one stays, however old it is.
        #expect(History.kept(moments, for: 1, at: now + 1000 * minute) == [moments[moments.count - 1].number])
    }

    @Test(arguments: 0..<12 as Range<UInt64>)
    func pastStatesAreAsTheyWere(seed: UInt64) throws {
        let story = try Story(seed: seed)
        for round in 0..<60 {
            for _ in 0..<1 + story.random.below(8) { try story.change() }
            if story.random.oneIn(3) { try story.vault.commit() }
            if story.random.oneIn(9) { _ = try story.vault.repacking.compact() }
            if story.random.oneIn(12) { try story.reopen() }
            if story.random.oneIn(6) { try story.name() }
            if round % 2 == 0 { try story.remember() }
        }
        try story.compare()
        try story.check()
        try story.reopen()
        try story.compare()
        // The older, the fewer; in between, one that is just being looked at.
        while story.states.count > 2 {
            let kept =
                story.states.filter { _ in story.random.oneIn(2) } + [story.states[story.states.count - 1]]
            let moments = kept.map(\.moment)
            try story.vault.history.keep(only: Set(moments))
            // What a snapshot has kept does not take the place of what went.
            story.states = kept
            try story.check()
            try story.compare()
            for _ in 0..<4 { try story.change() }
            if story.random.oneIn(2) { try story.name() }
            if story.random.oneIn(2) { _ = try story.vault.repacking.compact() }
            try story.compare()
            if story.states.count == kept.count, story.random.oneIn(4) { break }
        }
        for name in story.snapshots.keys { try story.vault.history.removeSnapshot(Array(name.utf8)) }
        try story.vault.history.set(.none)
        try story.vault.history.thin(at: Clock.realTime)
        try story.check()
        #expect(try story.versionCount() == 0)
    }
}
