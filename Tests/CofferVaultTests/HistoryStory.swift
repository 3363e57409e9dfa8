import CofferFormat
import CofferStore
import CofferSystem
import CofferTestSupport
import Foundation
import Testing

@testable import CofferVault

extension HistoryTests {
    /// What a program sees of an item.
    struct Seen: Equatable {
        var number: Int64
        var mode: UInt32
        var links: UInt32
        var size: Int64
        var modified: Int64
        var content: [UInt8] = []
        var attributes: [String: [UInt8]] = [:]
    }

    /// A vault that random programs change, with what it was at some times.
    final class Story {
        var test: TestVault
        var vault: Vault
        var random: SplitMix64
        var states: [(time: Int64, moment: Int64, items: [String: Seen])] = []
        /// What the vault was when each snapshot was made, by name.
        var snapshots: [String: [String: Seen]] = [:]
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

        /// Makes, or removes, a snapshot; often of a state that has one, or that lasts no time.
        func name() throws {
            let names = snapshots.keys.sorted()
            if random.oneIn(3), !names.isEmpty {
                let name = names[random.below(names.count)]
                try vault.history.removeSnapshot(Array(name.utf8))
                snapshots[name] = nil
            } else {
                let name = "snapshot \(random.below(1_000_000))"
                try vault.history.addSnapshot(try #require(SnapshotName(name)))
                snapshots[name] = try present()
            }
        }

        func compare() throws {
            for state in states {
                let view = try #require(try vault.history.view(at: state.time))
                defer { view.close() }
                try compare(view, with: state.items, "moment \(state.moment)")
            }
            #expect(try Set(vault.history.snapshots().map(\.name)) == Set(snapshots.keys))
            for (name, items) in snapshots {
                let view = try #require(try vault.history.view(ofSnapshot: Array(name.utf8)))
                defer { view.close() }
                try compare(view, with: items, name)
            }
        }

        private func compare(_ view: HistoryView, with items: [String: Seen], _ state: String) throws {
            let found = try past(view)
            #expect(Set(found.keys) == Set(items.keys), "\(state)")
            for (path, item) in items where found[path] != item {
                Issue.record("\(path) in \(state): \(brief(found[path])) is not \(brief(item))")
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
}

extension HistoryTests.Story {
    func versionCount() throws -> Int {
        try vault.reading { state throws(FileSystemError) in
            try state.index.versions(after: 0, 0, limit: 10).count
        }
    }
}
