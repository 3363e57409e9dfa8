import CofferFormat
import CofferStore
import CofferSystem
import CofferTestSupport
import Glibc
import Testing

@testable import CofferVault

/// Operations that need pages of the index that are not in memory, while the disk is slow.
@Suite struct AbsentPageTests {
    private static let directoryCount = 6, fileCount = 250
    private static let content = Pattern.make(9_000)

    private let test: TestVault
    private let pages = HeldPages()

    init() throws {
        test = try TestVault.create()
        let vault = try test.open()
        var directories: [Int64] = []
        for number in 0..<Self.directoryCount { directories.append(try vault.makeDirectory("d\(number)")) }
        for file in 0..<Self.fileCount {
            for directory in directories { _ = try vault.makeFile("file \(file)", in: directory) }
        }
        for directory in directories {
            try vault.put(Self.content, to: try vault.number(of: "file 7", in: directory))
            // A small content that an fsync put into a row of the index.
            let small = try vault.number(of: "file 8", in: directory)
            try vault.put(Array(Self.content.prefix(3_000)), to: small)
            try vault.commitIndex()
            try vault.setExtendedAttribute(Array("user.one".utf8), of: small, to: [1, 2, 3], .any)
        }
        try vault.close()
    }

    /// The vault after a mount, with almost no page of its index in SQLite's cache.
    private func open(isSlow: Bool = true) throws -> Vault {
        let vault = try Vault(
            in: HeldPageDirectory(test.directory, pages), id: test.id, store: test.store, keys: test.keys,
            problems: ProblemLog())
        if isSlow { vault.pace.noteSlow(for: 3_600_000_000_000) }
        pages.dropAll()
        return vault
    }

    private struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let operation: @Sendable (Vault) throws -> Void

        init(_ text: String, _ operation: @escaping @Sendable (Vault) throws -> Void) {
            testDescription = text
            self.operation = operation
        }
    }

    private static let cases: [Case] = [
        Case("lookup") { _ = try $0.lookup(Array("d2".utf8), in: Vault.rootNumber) },
        Case("a name that does not exist") { vault in
            let directory = try vault.number(of: "d2")
            #expect(fails("notFound") { _ = try vault.number(of: "none", in: directory) })
        },
        Case("listing") { vault in
            let directory = try vault.number(of: "d1")
            #expect(try vault.names(in: directory).count == fileCount)
            let entries = try vault.readDirectory(directory, after: 2, limit: 128, attributes: true)
            #expect(entries.allSatisfy { $0.attributes != nil })
        },
        Case("creating") { vault in
            _ = try vault.makeFile("new", in: try vault.number(of: "d0"))
            _ = try vault.makeDirectory("new directory", in: try vault.number(of: "d3"))
        },
        Case("links") { vault in
            let file = try vault.number(of: "file 3", in: try vault.number(of: "d0"))
            _ = try vault.link(file, as: Array("linked".utf8), in: try vault.number(of: "d5"))
        },
        Case("renaming within a directory") { vault in
            let directory = try vault.number(of: "d4")
            _ = try vault.move("file 100", in: directory, to: "moved", into: directory)
        },
        Case("renaming into another directory") { vault in
            let (one, other) = (try vault.number(of: "d4"), try vault.number(of: "d1"))
            _ = try vault.move("file 9", in: one, to: "moved", into: other)
        },
        Case("replacing") { vault in
            let (one, other) = (try vault.number(of: "d4"), try vault.number(of: "d1"))
            _ = try vault.move("file 9", in: one, to: "file 200", into: other)
        },
        Case("exchanging") { vault in
            let (one, other) = (try vault.number(of: "d0"), try vault.number(of: "d5"))
            _ = try vault.move("file 9", in: one, to: "file 200", into: other, mode: .exchange)
        },
        Case("removing") { vault in
            for name in ["file 7", "file 8", "file 249"] {
                try vault.remove(name, in: try vault.number(of: "d2"))
            }
        },
        Case("reading") { vault in
            let directory = try vault.number(of: "d2")
            #expect(try vault.content(of: try vault.number(of: "file 7", in: directory)) == content)
            #expect(
                try vault.content(of: try vault.number(of: "file 8", in: directory))
                    == Array(content.prefix(3_000)))
        },
        Case("writing") { vault in
            let file = try vault.number(of: "file 7", in: try vault.number(of: "d3"))
            try vault.put([1, 2, 3], to: file, at: 4_000)
            #expect(try vault.get(file, at: 3_999, count: 5) == [content[3_999], 1, 2, 3, content[4_003]])
        },
        Case("truncating") { vault in
            let directory = try vault.number(of: "d3")
            for name in ["file 7", "file 8"] {
                let file = try vault.number(of: name, in: directory)
                try vault.truncate(file, to: 100)
                #expect(try vault.content(of: file) == Array(content.prefix(100)))
            }
        },
        Case("attributes") { vault in
            let file = try vault.number(of: "file 8", in: try vault.number(of: "d3"))
            #expect(try vault.extendedAttribute(Array("user.one".utf8), of: file) == [1, 2, 3])
            try vault.setExtendedAttribute(Array("user.two".utf8), of: file, to: [4], .create)
            try vault.removeExtendedAttribute(Array("user.one".utf8), of: file)
            var changes = AttributeChanges()
            changes.mode = 0o600
            #expect(try vault.setAttributes(of: file, changes).mode & 0o7777 == 0o600)
        },
    ]

    /// All names, and what a check finds.
    private func story(of vault: Vault) throws -> [String] {
        var lines = try vault.damage().map(\.text)
        for name in try vault.names() {
            let directory = try vault.number(of: name)
            for entry in try vault.readDirectory(directory, after: 2, limit: 10_000, attributes: true) {
                let attributes = entry.attributes
                lines.append(
                    "\(name)/\(String(decoding: entry.name, as: UTF8.self)) \(attributes?.size ?? -1) "
                        + "\(attributes?.links ?? 0) \(attributes?.mode ?? 0)")
            }
        }
        return lines
    }

    /// Each operation comes to the same as in a vault on a fast disk, and brings its pages without the vault's lock.
    @Test(arguments: cases) private func operationsBringTheirPages(_ one: Case) throws {
        let reference = try test.on(test.directory.crash(seed: 1)).open()
        try one.operation(reference)
        let expected = try story(of: reference)
        let vault = try open()
        try one.operation(vault)
        #expect(pages.absenceCount > 0)
        // A page that was read under the lock was not asked for before.
        #expect(pages.readCount <= pages.absenceCount)
        let found = try story(of: vault)
        #expect(found == expected)
        #expect(vault.stoppedReason == nil)
        try vault.close()
    }

    /// One call of the vault, with items that were looked up elsewhere.
    private struct Call: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let paths: [String]
        let call: @Sendable (Vault, [Int64]) throws -> Void

        init(_ text: String, _ paths: [String], _ call: @escaping @Sendable (Vault, [Int64]) throws -> Void) {
            testDescription = text
            (self.paths, self.call) = (paths, call)
        }
    }

    private static let calls: [Call] = [
        Call("creating", ["d3"]) { _ = try $0.makeFile("new", in: $1[0]) },
        Call("making a directory", ["d3"]) { _ = try $0.makeDirectory("new", in: $1[0]) },
        Call("linking", ["d0/file 3", "d5"]) {
            _ = try $0.link($1[0], as: Array("linked".utf8), in: $1[1])
        },
        Call("renaming", ["d4", "d1"]) { _ = try $0.move("file 9", in: $1[0], to: "moved", into: $1[1]) },
        Call("replacing", ["d4", "d1"]) { _ = try $0.move("file 9", in: $1[0], to: "file 7", into: $1[1]) },
        Call("exchanging", ["d0", "d5"]) {
            _ = try $0.move("file 9", in: $1[0], to: "file 200", into: $1[1], mode: .exchange)
        },
        Call("removing", ["d2"]) { try $0.unlink(Array("file 7".utf8), in: $1[0]) },
        Call("writing", ["d3/file 7"]) { try $0.put([1, 2, 3], to: $1[0], at: 4_000) },
        Call("truncating", ["d3/file 8"]) { try $0.truncate($1[0], to: 100) },
        Call("setting an attribute", ["d3/file 8"]) {
            try $0.setExtendedAttribute(Array("user.two".utf8), of: $1[0], to: [4], .create)
        },
        Call("removing an attribute", ["d3/file 8"]) {
            try $0.removeExtendedAttribute(Array("user.one".utf8), of: $1[0])
        },
        Call("changing permissions", ["d3/file 8"]) { vault, items in
            var changes = AttributeChanges()
            changes.mode = 0o600
            _ = try vault.setAttributes(of: items[0], changes)
        },
    ]

    /// A thread that leaves waiting to others gets an error for each page, and nothing has changed by then.
    @Test(arguments: calls) private func callsThatAreLeftChangeNothing(_ one: Call) throws {
        let reference = try test.on(test.directory.crash(seed: 1)).open()
        let items = try one.paths.map { try reference.number(atPath: Array($0.utf8)) }
        try one.call(reference, items)
        let expected = try story(of: reference)
        let vault = try open()
        var leftCount = 0
        var isDone = false
        while !isDone, leftCount < 100 {
            let before = vault.state.withLock { [$0.index.changes, $0.tree.dirtyItems.count] }
            var absent: AbsentPage?
            _ = LeavingWaits.perform {
                do {
                    try one.call(vault, items)
                    isDone = true
                } catch FileSystemError.pageAbsent(let page) {
                    absent = page
                } catch {
                    Issue.record(error)
                    isDone = true
                }
            }
            guard let absent else { break }
            leftCount += 1
            #expect(vault.state.withLock { [$0.index.changes, $0.tree.dirtyItems.count] } == before)
            try absent.bring()
        }
        #expect(isDone)
        #expect(leftCount > 0)
        #expect(try story(of: vault) == expected)
        try vault.close()
    }

    /// What nobody uses any more goes without a commit of its own, also if its pages are absent.
    @Test func unusedItemsThatAreAbsentGoTogether() throws {
        let vault = try open()
        let directory = try vault.number(of: "d2")
        let removed = try (20..<40).map { try vault.unlink(Array("file \($0)".utf8), in: directory).number }
        try vault.commitIndex()
        let commits = vault.state.withLock { $0.index.base }
        for number in removed { try vault.repacking.eraseInSlices(number) }
        #expect(vault.state.withLock { $0.index.base } == commits)
        #expect(vault.state.withLock { $0.tree.orphans.isEmpty })
        try vault.close()
        #expect(try test.open().damage().map(\.text) == [])
    }

    /// Pages that leave memory as soon as they came: the operation waits in the end.
    @Test func tryingEnds() throws {
        let vault = try open()
        pages.dropAll(remembers: false)
        let directory = try vault.number(of: "d3")
        _ = try vault.makeFile("new", in: directory)
        #expect(try vault.number(of: "new", in: directory) > 0)
        try vault.close()
    }

    /// Without a slow disk, pages are read where they are needed.
    @Test func aFastDiskIsNotAsked() throws {
        let vault = try open(isSlow: false)
        // A busy machine makes any disk slow.
        while vault.pace.isSlow { usleep(100_000) }
        pages.dropAll()
        let before = pages.absenceCount
        _ = try vault.names(in: try vault.number(of: "d3"))
        let wasFast = !vault.pace.isSlow
        #expect(pages.absenceCount == before || !wasFast)
        #expect(pages.readCount > 0)
        try vault.close()
    }

    /// An error of the disk hits the operation that needs the page, and nothing else.
    @Test func anErrorOfAnAwaitedPage() throws {
        let vault = try open()
        let made = try vault.makeFile("made before")
        pages.fail(with: ErrorNumber.inputOutput)
        let cold = try? vault.number(of: "d5")
        #expect(fails("system") { _ = try vault.names(in: cold ?? 2) })
        #expect(vault.stoppedReason == nil)
        #expect(try vault.attributes(of: made).links == 1)
        pages.fail(with: nil)
        #expect(try vault.names(in: try vault.number(of: "d5")).count == Self.fileCount)
        #expect(try vault.number(of: "made before") == made)
        try vault.close()
        #expect(try test.open().damage().map(\.text) == [])
    }

    /// While one operation waits for a page, others go on.
    @Test func othersGoOn() throws {
        let vault = try open()
        let warm = try vault.makeDirectory("warm")
        _ = try vault.makeFile("a", in: warm)
        for number in 0..<60 { _ = try vault.makeFile("other \(number)", in: warm) }
        // All that a move needs is in memory: the same was done before.
        for _ in 0..<2 {
            _ = try vault.move("a", in: warm, to: "b", into: warm)
            _ = try vault.move("b", in: warm, to: "a", into: warm)
        }
        let directory = try vault.number(of: "d1")
        pages.dropAll()
        pages.hold()
        let (names, moved) = (Condition<Int?>(nil), Condition(false))
        let waiter = try Thread.start("waiter") {
            let count = try? vault.names(in: directory).count
            names.update { $0 = count ?? -1 }
        }
        let isWaiting = pages.awaitWaiting()
        let mover = try Thread.start("mover") {
            let isMoved: Bool
            do {
                _ = try vault.move("a", in: warm, to: "b", into: warm)
                isMoved = true
            } catch {
                isMoved = false
            }
            moved.update { $0 = isMoved }
        }
        let wasMoved = moved.wait(nanoseconds: 90_000_000_000) { $0 ? true : nil }
        let early = names.withLock { $0 }
        pages.release()
        waiter.join()
        mover.join()
        #expect(isWaiting)
        #expect(wasMoved == true)
        #expect(early == nil)
        #expect(names.withLock { $0 } == Self.fileCount)
        try vault.close()
    }
}
