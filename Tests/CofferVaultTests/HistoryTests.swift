import CofferFormat
import CofferStore
import CofferSystem
import CofferTestSupport
import Foundation
import Testing

@testable import CofferVault

/// Past states of a vault, compared with what the vault was at those times.
@Suite struct HistoryTests {
    /// What a program sees of an item.
    fileprivate struct Seen: Equatable {
        var number: Int64
        var mode: UInt32
        var links: UInt32
        var size: Int64
        var modified: Int64
        var content: [UInt8] = []
        var attributes: [String: [UInt8]] = [:]
    }

    /// A vault that random programs change, with what it was at some times.
    fileprivate final class Story {
        var test: TestVault
        var vault: Vault
        var random: SplitMix64
        var states: [(time: Int64, moment: Int64, items: [String: Seen])] = []
        private let names = ["a", "b", "c", "d", "e"]

        init(seed: UInt64) throws {
            test = try TestVault.create()
            vault = try test.open()
            random = SplitMix64(seed: seed)
            try vault.history.set(.forever)
        }

        // MARK: What there is

        func present(_ directory: Int64 = Vault.rootNumber, _ path: String = "") throws -> [String: Seen] {
            var items = [path: try seen(directory)]
            for entry in try vault.readDirectory(directory, after: 2, limit: 1000, attributes: false) {
                let name = path + "/" + String(decoding: entry.name, as: UTF8.self)
                if entry.type == FileType.directory.rawValue {
                    items.merge(try present(entry.item, name)) { $1 }
                } else {
                    items[name] = try seen(entry.item)
                }
            }
            return items
        }

        private func seen(_ number: Int64) throws -> Seen {
            let attributes = try vault.attributes(of: number)
            var seen = Seen(
                number: number, mode: attributes.mode, links: attributes.links, size: attributes.size,
                modified: attributes.modified)
            if attributes.type == .regular { seen.content = try vault.content(of: number) }
            if attributes.type == .symbolicLink { seen.content = try vault.readLink(number) }
            for name in try vault.extendedAttributeNames(of: number) {
                seen.attributes[String(decoding: name, as: UTF8.self)] = try vault.extendedAttribute(
                    name, of: number)
            }
            return seen
        }

        func past(
            _ view: HistoryView, _ directory: Int64 = Vault.rootNumber, _ path: String = ""
        ) throws -> [String: Seen] {
            var items = [path: try seen(directory, in: view)]
            for entry in try view.entries(of: directory) {
                let name = path + "/" + String(decoding: entry.name, as: UTF8.self)
                #expect(try view.lookup(entry.name, in: directory).number == entry.item)
                if entry.type == FileType.directory.rawValue {
                    items.merge(try past(view, entry.item, name)) { $1 }
                } else {
                    items[name] = try seen(entry.item, in: view)
                }
            }
            return items
        }

        private func seen(_ number: Int64, in view: HistoryView) throws -> Seen {
            let attributes = try view.attributes(of: number)
            var seen = Seen(
                number: attributes.number, mode: attributes.mode, links: attributes.links,
                size: attributes.size, modified: attributes.modified)
            if attributes.type == .regular {
                let buffer = AlignedBuffer(count: max(1, Int(attributes.size)))
                let count = try view.read(number, at: 0, count: Int(attributes.size) + 1, into: buffer)
                seen.content = buffer.withBytes(0..<count) { $0.array }
            }
            if attributes.type == .symbolicLink { seen.content = try view.readLink(number) }
            for (name, value) in try view.extendedAttributes(of: number) {
                seen.attributes[String(decoding: name, as: UTF8.self)] = value
            }
            return seen
        }

        /// Remembers the present state; the next change begins a moment.
        func remember() throws {
            try vault.history.keepPresent()
            let last = vault.state.withLock { $0.tree.history?.row.last ?? 0 }
            states.append((Clock.realTime, last + 1, try present()))
            usleep(20)
        }

        func compare() throws {
            for state in states {
                let view = try #require(try vault.history.view(at: state.time))
                defer { view.close() }
                let found = try past(view)
                #expect(Set(found.keys) == Set(state.items.keys))
                for (path, item) in state.items where found[path] != item {
                    Issue.record(
                        "\(path) in moment \(state.moment): \(brief(found[path])) is not \(brief(item))")
                }
            }
        }

        private func brief(_ seen: Seen?) -> String {
            guard let seen else { return "nothing" }
            let sum = seen.content.reduce(UInt64(7)) { $0 &* 31 &+ UInt64($1) }
            return
                "\(seen.number) \(seen.mode) \(seen.links) \(seen.size) \(seen.modified) \(sum) \(seen.attributes)"
        }

        func reopen() throws {
            try vault.close()
            vault = try test.open()
        }

        func crash(seed: UInt64) {
            test = test.crashed(seed: seed)
            do { vault = try test.open() } catch { Issue.record(error) }
        }

        func check() throws {
            try vault.commitIndex()
            #expect(try vault.check { _, _ in }.damage.map(\.text) == [])
        }

        // MARK: What programs do

        private func directory() -> Int64 {
            var number = Vault.rootNumber
            for _ in 0..<random.below(3) {
                guard let next = try? vault.number(of: pick(), in: number),
                    (try? vault.attributes(of: next).type) == .directory
                else { break }
                number = next
            }
            return number
        }

        private func pick() -> String { names[random.below(names.count)] }

        private func file() -> Int64? {
            guard let number = try? vault.number(of: pick(), in: directory()),
                (try? vault.attributes(of: number).type) == .regular
            else { return nil }
            return number
        }

        /// A random change; errors such as that a name is taken are part of it.
        func change() throws {
            do throws(FileSystemError) {
                try tryChange()
            } catch {
                switch error {
                case .alreadyExists, .notFound, .notDirectory, .isDirectory, .directoryNotEmpty,
                    .invalidArgument, .attributeNotFound:
                    break
                default: throw error
                }
            }
        }

        private func tryChange() throws(FileSystemError) {
            let parent = directory()
            let name = Array(pick().utf8)
            let owner = TestVault.owner
            switch random.below(18) {
            case 0, 1:
                _ = try vault.create(.init(mode: Vault.fileMode), named: name, in: parent, by: owner)
            case 2: _ = try vault.create(.init(mode: Vault.directoryMode), named: name, in: parent, by: owner)
            case 3:
                var link = Vault.NewItem(mode: 0o120777)
                link.target = Array("to \(random.below(9))".utf8)
                _ = try vault.create(link, named: name, in: parent, by: owner)
            case 4...8:
                guard let number = file() else { return }
                let bytes = random.bytes(1 + random.below(random.oneIn(4) ? 40_000 : 5000))
                try vault.contents.write(
                    bytes.span.bytes, to: number, at: Int64(random.below(50_000)), touches: true,
                    dropsPrivileges: false)
            case 9:
                guard let number = file() else { return }
                var changes = AttributeChanges()
                changes.size = Int64(random.below(60_000))
                _ = try vault.setAttributes(of: number, changes)
            case 10:
                guard let number = file() else { return }
                let start = Int64(random.below(50_000))
                try vault.contents.allocate(
                    .punchHole, of: number, start..<start + 1 + Int64(random.below(20_000)), by: owner)
            case 11: vault.release(try vault.unlink(name, in: parent).number)
            case 12: vault.release(try vault.removeDirectory(name, in: parent))
            case 13, 14:
                let replaced = try vault.rename(
                    name, in: parent, to: Array(pick().utf8), in: directory(),
                    random.oneIn(3) ? .exchange : .replace)
                if let replaced { vault.release(replaced) }
            case 15:
                guard let number = file() else { return }
                _ = try vault.link(number, as: name, in: parent)
            case 16:
                guard let number = file() else { return }
                let attribute = Array("user.\(pick())".utf8)
                if random.oneIn(3) {
                    try vault.removeExtendedAttribute(attribute, of: number)
                } else {
                    try vault.setExtendedAttribute(
                        attribute, of: number, to: random.bytes(9), .any)
                }
            default:
                guard let number = file() else { return }
                var changes = AttributeChanges()
                changes.mode = UInt32(0o600 + random.below(64))
                _ = try vault.setAttributes(of: number, changes)
            }
        }
    }

    /// A commit has its states, or did not happen.
    @Test(arguments: 0..<6 as Range<UInt64>)
    func powerCuts(seed: UInt64) throws {
        let story = try Story(seed: 1000 + seed)
        for _ in 0..<8 {
            for _ in 0..<6 {
                for _ in 0..<1 + story.random.below(6) { try story.change() }
                if story.random.oneIn(2) { try story.vault.commit() }
            }
            try story.remember()
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
        let view = try #require(try vault.history.view(at: time))
        defer { view.close() }
        let restored = try vault.history.restore(Array("folder".utf8), from: view, isExact: false)
        #expect(restored.items == 3 && restored.unchanged == 1 && restored.removed == 0)
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
        #expect(again == .init(items: 0, unchanged: 1, removed: 0, bytes: 0))
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
            story.states = kept
            try story.check()
            try story.compare()
            for _ in 0..<4 { try story.change() }
            try story.compare()
            if story.states.count == kept.count, story.random.oneIn(4) { break }
        }
        try story.vault.history.set(.none)
        try story.vault.history.thin(at: Clock.realTime)
        try story.check()
        #expect(try story.versionCount() == 0)
    }
}

extension HistoryTests.Story {
    fileprivate func versionCount() throws -> Int {
        try vault.reading { state throws(FileSystemError) in
            try state.index.versions(after: 0, 0, limit: 10).count
        }
    }
}
