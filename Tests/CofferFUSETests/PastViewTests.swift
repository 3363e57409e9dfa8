import CofferFormat
import CofferSystem
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@testable import CofferFUSE
@testable import CofferVault

extension LiveMountTests {
    /// How long the views of past states are open, and what comes after them.
    @Suite struct PastViewTests {
        private static let idleTime: Int64 = 50_000_000

        @Test func idleViewsAreClosedAndOpenedAgain() throws {
            try PastStory.run(pastIdleTime: Self.idleTime) { story in
                try story.writes("first", to: "file")
                let first = try story.keeps()
                try story.writes("second", to: "file")
                let directory = try Program.opens(first, O_RDONLY | O_DIRECTORY)
                defer { close(directory) }
                #expect(eventually { story.past.viewCount == 0 })
                #expect(story.vault.state.withLock { $0.tree.history?.viewed } == [:])
                // The directory stays usable.
                let file = openat(directory, "file", O_RDONLY)
                #expect(try Program.reads(file) == "first")
                try Program.closes(file)
                #expect(eventually { story.past.viewCount == 0 })
                #expect(try Program.reads("\(first)/file") == "first")
            }
        }

        /// The present state, of which nothing is kept as long as nothing changes.
        @Test func aViewOfThePresentIsOpenedAgain() throws {
            try PastStory.run(pastIdleTime: Self.idleTime) { story in
                try story.writes("first", to: "file")
                let directory = try Program.opens("\(story.history)/now", O_RDONLY | O_DIRECTORY)
                defer { close(directory) }
                #expect(eventually { story.past.viewCount == 0 })
                let file = openat(directory, "file", O_RDONLY)
                #expect(try Program.reads(file) == "first")
                try Program.closes(file)
                #expect(eventually { story.past.viewCount == 0 })
                try story.writes("second", to: "file")
                let again = openat(directory, "file", O_RDONLY)
                #expect(try Program.reads(again) == "first")
                try Program.closes(again)
            }
        }

        @Test func aStateThatIsLookedAtIsNotThinned() throws {
            try PastStory.run { story in
                for text in ["first", "second", "third"] {
                    try story.writes(text, to: "file")
                    _ = try story.keeps()
                }
                try story.writes("fourth", to: "file")
                let names = try Program.lists(story.history)
                #expect(names.count == 4)
                let directory = try Program.opens("\(story.history)/\(names[1])", O_RDONLY | O_DIRECTORY)
                defer { close(directory) }
                try story.vault.history.keep(only: [])
                let file = openat(directory, "file", O_RDONLY)
                #expect(try Program.reads(file) == "first")
                try Program.closes(file)
                // The last one gets versions, and stays.
                #expect(try Program.lists(story.history) == [names[1], names[3]])
            }
        }

        @Test func aSnapshotHasAName() throws {
            try PastStory.run { story in
                try story.writes("first", to: "file")
                try story.vault.history.addSnapshot(try #require(SnapshotName("name")))
                let path = "\(story.history)/name/file"
                #expect(chmod(story.mount.path("file"), 0o640) == 0)
                #expect(try Program.status(path).st_mode & 0o777 != 0o640)
                // It is not the present state any more, though nothing has been committed since.
                #expect(try Program.status("\(story.history)/now/file").st_mode & 0o777 == 0o640)
                for text in ["second", "third"] {
                    try story.writes(text, to: "file")
                    _ = try story.keeps()
                }
                try story.vault.history.keep(only: [])
                #expect(try Program.lists(story.history).contains("name"))
                #expect(try Program.reads(path) == "first")
                try story.vault.history.removeSnapshot(Array("name".utf8))
                #expect(try code { _ = try Program.status(path) } == ENOENT)
            }
        }

        @Test func aStateThatHasGoneIsStale() throws {
            try PastStory.run(pastIdleTime: Self.idleTime) { story in
                for text in ["first", "second", "third"] {
                    try story.writes(text, to: "file")
                    _ = try story.keeps()
                }
                try story.writes("fourth", to: "file")
                let names = try Program.lists(story.history)
                let directory = try Program.opens("\(story.history)/\(names[2])", O_RDONLY | O_DIRECTORY)
                defer { close(directory) }
                #expect(eventually { story.past.viewCount == 0 })
                let last = try story.vault.history.states().map(\.number)
                try story.vault.history.keep(only: [last[1]])
                #expect(code(openat(directory, "file", O_RDONLY)) == ESTALE)
                // The time leads to the nearest older state, once the kernel asks.
                #expect(
                    eventually { (try? Program.reads("\(story.history)/\(names[2])/file")) == "first" })
            }
        }

        @Test func viewsDoNotKeepTheHistoryOn() throws {
            try PastStory.run { story in
                try story.writes("first", to: "file")
                let first = try story.keeps()
                try story.writes("second", to: "file")
                let file = try Program.opens("\(first)/file", O_RDONLY)
                defer { close(file) }
                #expect(story.past.viewCount == 1)
                #expect(throws: (any Error).self) { try story.vault.history.set(.none) }
                try story.mount.session.withoutPast(of: 1) { () throws(FileSystemError) in
                    try story.vault.history.set(.none)
                }
                #expect(story.past.viewCount == 0)
                #expect(try code { _ = try Program.reads(file) } == ESTALE)
                #expect(try code { _ = try Program.status(first) } == ENOENT)
                try story.vault.history.set(.forever)
                #expect(try code { _ = try Program.reads(file) } == ESTALE)
                #expect(try Program.lists(story.mount.path(".coffer")) == ["history"])
            }
        }

        /// If it stays on nevertheless, all goes on.
        @Test func anAttemptToTurnTheHistoryOff() throws {
            try PastStory.run { story in
                try story.writes("first", to: "file")
                let first = try story.keeps()
                try story.writes("second", to: "file")
                let file = try Program.opens("\(first)/file", O_RDONLY)
                defer { close(file) }
                struct Failure: Error {}
                #expect(throws: Failure.self) {
                    try story.mount.session.withoutPast(of: 1) { throw Failure() }
                }
                #expect(try Program.reads(file) == "first")
            }
        }
    }
}

/// The slots of past states.
@Suite struct PastSlotTests {
    private final class Vaults: VaultDirectory {
        let list: Mutex<[MountedVault]>
        init(open: [MountedVault]) { list = Mutex(open) }
        var open: [MountedVault] { list.withLock { $0 } }
        var vaults: [MountedVault] { open }
        func vault(slot: UInt16) -> MountedVault? { open.first { $0.slot == slot } }
        func vault(named name: [UInt8]) -> MountedVault? { nil }
        func createVault(named name: [UInt8], by caller: Caller) throws(FileSystemError) -> MountedVault {
            throw .notPermitted
        }
        func renameVault(_ name: [UInt8], to newName: [UInt8]) throws(FileSystemError) {}
        func removeEmptyVault(named name: [UInt8]) throws(FileSystemError) {}
        var owner: (user: UInt32, group: UInt32) { (0, 0) }
        var changed: Int64 { 0 }
    }

    private func make() throws -> Vault {
        let vault = try TestVault.create().open()
        try vault.history.set(.forever)
        return vault
    }

    /// Nodes from before the profile was locked, and vaults of a profile of an early version.
    @Test func slotsThatAreTakenAreLeftOut() throws {
        let lookups = LookupTable(counts: [Node(slot: 0xFFFF, item: 9).number: 1])
        let vaults = Vaults(open: [
            MountedVault(slot: 1, name: "one", vault: try make()),
            MountedVault(slot: 0xFFFE, name: "two", vault: try make()),
        ])
        let past = PastTrees(vaults, known: lookups.past)
        defer { past.stop() }
        let fileSystem = FileSystem(
            root: vaults, keepsAccessTimes: true, past: past,
            trash: TrashFolder(vaults, Notifier(LookupTable())))
        #expect(try past.pin(.max, of: 1).root.slot == 0xFFFD)
        #expect(try past.pin(.max, of: 0xFFFE).root.slot == 0xFFFC)
        // The vault in an upper slot is no past one.
        #expect(!fileSystem.isPast(Node(slot: 0xFFFE, item: 1)))
        #expect(throws: Never.self) { try fileSystem.vault(Node(slot: 0xFFFE, item: 1)) }
        #expect(try fileSystem.attributes(of: Node(slot: 0xFFFE, item: 1)).number == 1)
        #expect(fileSystem.isPast(Node(slot: 0xFFFE, item: 1 << 47 | 1)))
        // What the kernel still knows leads nowhere, and is not changed.
        let stale = Node(slot: 0xFFFF, item: 9)
        #expect(fileSystem.isPast(stale))
        do throws(FileSystemError) {
            _ = try fileSystem.attributes(of: stale)
            Issue.record("there is no such state")
        } catch { #expect(error.errno == ESTALE) }
        do throws(FileSystemError) {
            _ = try fileSystem.vault(stale)
            Issue.record("a past node has no vault to change")
        } catch { #expect(error.errno == EROFS) }
        // Once the kernel has forgotten it, its slot is free.
        #expect(lookups.subtract(1, from: stale))
        #expect(!lookups.past.has(0xFFFF))
    }

    /// Each state is another one, as the vault changes between.
    @Test func manyStatesAreForgotten() throws {
        let vaults = Vaults(open: [MountedVault(slot: 1, name: "one", vault: try make())])
        let past = PastTrees(vaults, known: LookupTable().past, presentTime: 0)
        defer { past.stop() }
        let caller = Caller(user: 0, group: 0, umask: 0)
        var due: [Int] = []
        for count in 1...1400 {
            _ = try past.pin(.max, of: 1)
            if past.isDueToForget() { due.append(count) }
            _ = try vaults.open[0].vault.create(
                Vault.NewItem(mode: 0o100644), named: Array("\(count)".utf8), in: 1, by: caller)
        }
        #expect(due == [1024, 1280])
    }

    @Test func noSlotIsLeft() throws {
        let vaults = Vaults(open: [MountedVault(slot: 1, name: "one", vault: try make())])
        let lookups = LookupTable()
        for slot in Node.firstPastSlot...UInt16.max { lookups.add(Node(slot: slot, item: 1)) }
        let past = PastTrees(vaults, known: lookups.past)
        defer { past.stop() }
        do throws(FileSystemError) {
            _ = try past.pin(.max, of: 1)
            Issue.record("there is no slot")
        } catch { #expect(error.errno == EBUSY) }
        #expect(vaults.open[0].vault.state.withLock { $0.tree.history?.viewed } == [:])
        _ = lookups.subtract(1, from: Node(slot: 0xF123, item: 1))
        let (root, isPresent) = try past.pin(.max, of: 1)
        #expect(root == Node(slot: 0xF123, item: 1) && isPresent)
        // A pinned tree stays, though the kernel does not know it yet.
        past.releaseIfUnknown(0xF123)
        #expect(past.slots == [0xF123])
        past.unpin(root)
        #expect(past.slots == [])
    }

    private func change(_ vault: Vault, _ name: String) throws {
        _ = try vault.create(
            Vault.NewItem(mode: 0o100644), named: Array(name.utf8), in: Vault.rootNumber,
            by: Caller(user: 0, group: 0, umask: 0))
    }

    private func fails(with code: Int32, _ body: () throws(FileSystemError) -> Void) -> Bool {
        do throws(FileSystemError) { try body() } catch { return error.errno == code }
        return false
    }

    /// Each commit waits for the disk.
    @Test func thePresentStateIsNotCommittedEachTime() throws {
        let vault = try make()
        let vaults = Vaults(open: [MountedVault(slot: 1, name: "one", vault: vault)])
        for presentTime in [0, Int64.max] {
            let past = PastTrees(vaults, known: LookupTable().past, presentTime: presentTime)
            defer { past.stop() }
            let first = try past.pin(.max, of: 1)
            #expect(first.isPresent)
            try change(vault, "a\(presentTime)")
            #expect(try vault.history.find(.max).isUncommitted)
            let second = try past.pin(.max, of: 1)
            #expect(second.isPresent)
            #expect((first.root == second.root) == (presentTime == .max))
            #expect(try vault.history.find(.max).isUncommitted == (presentTime == .max))
            try vault.commit()
            // What is committed is seen at once.
            try change(vault, "b\(presentTime)")
            try vault.history.keepPresent()
            #expect(try past.pin(.max, of: 1).root != first.root)
        }
    }

    /// A time before changes that are not committed yet leads to no present state, and stands for none.
    @Test func aTimeBeforeUncommittedChanges() throws {
        let vault = try make()
        try change(vault, "one")
        try vault.history.keepPresent()
        usleep(1000)
        let time = Clock.realTime
        usleep(1000)
        try change(vault, "two")
        let vaults = Vaults(open: [MountedVault(slot: 1, name: "one", vault: vault)])
        let past = PastTrees(vaults, known: LookupTable().past, presentTime: .max)
        defer { past.stop() }
        let before = try past.pin(time, of: 1)
        #expect(!before.isPresent)
        #expect(try past.readDirectory(before.root, after: 2, limit: 10).count == 1)
        try change(vault, "three")
        let now = try past.pin(.max, of: 1)
        #expect(now.isPresent)
        #expect(try past.readDirectory(now.root, after: 2, limit: 10).count == 3)
    }

    /// A vault that takes nothing any more can still be read.
    @Test(arguments: [true, false]) func aStoppedVault(hasChanges: Bool) throws {
        let vault = try make()
        try change(vault, "one")
        try vault.history.keepPresent()
        let vaults = Vaults(open: [MountedVault(slot: 1, name: "one", vault: vault)])
        let past = PastTrees(vaults, known: LookupTable().past, presentTime: 0)
        defer { past.stop() }
        let before = try past.pin(.max, of: 1)
        if hasChanges { try change(vault, "two") }
        vault.stop("for a test")
        let after = try past.pin(.max, of: 1)
        #expect(after.root == before.root && after.isPresent != hasChanges)
        let names = try past.readDirectory(after.root, after: 2, limit: 10).map(\.entry.name)
        #expect(names == [Array("one".utf8)])
    }

    /// Of a vault that was deleted, or opened again, nothing is read through an old view.
    @Test(arguments: [true, false]) func aDeletedVault(isOpenedAgain: Bool) throws {
        let vault = try make()
        try change(vault, "one")
        let vaults = Vaults(open: [MountedVault(slot: 1, name: "one", vault: vault)])
        let past = PastTrees(vaults, known: LookupTable().past)
        defer { past.stop() }
        let root = try past.pin(.max, of: 1).root
        #expect(try past.readDirectory(root, after: 2, limit: 10).count == 1)
        let other = isOpenedAgain ? [MountedVault(slot: 1, name: "one", vault: try make())] : []
        vaults.list.withLock { $0 = other }
        #expect(fails(with: ESTALE) { () throws(FileSystemError) in _ = try past.attributes(of: root) })
        #expect(vault.state.withLock { $0.tree.history?.viewed } == [:])
        #expect(past.viewCount == 0)
    }

    /// A handle of another mount's tree in the same slot leads nowhere.
    @Test func generationsDiffer() throws {
        let vaults = Vaults(open: [MountedVault(slot: 1, name: "one", vault: try make())])
        let spoilt = SpoiltFiles()
        let generations = try (0..<2).map { _ in
            let past = PastTrees(vaults, known: LookupTable().past)
            defer { past.stop() }
            let fileSystem = FileSystem(
                root: vaults, keepsAccessTimes: true, past: past,
                trash: TrashFolder(vaults, Notifier(LookupTable())))
            let root = try past.pin(.max, of: 1).root
            let node = Node(slot: root.slot, item: 5)
            let first = fileSystem.generation(of: node, spoilt)
            #expect(fileSystem.generation(of: root, spoilt) == first)
            _ = spoilt.add(node)
            #expect(fileSystem.generation(of: node, spoilt) == first + 1)
            #expect(fileSystem.generation(of: Node(slot: 1, item: 5), spoilt) == 1)
            #expect(fileSystem.generation(of: .history(in: 1), spoilt) == 1)
            spoilt.remove(node)
            return first
        }
        #expect(generations[0] != generations[1])
    }
}

extension History.Place {
    /// Closes the view.
    fileprivate var isUncommitted: Bool {
        if case .view(let view) = self { view.close() }
        if case .uncommitted = self { return true }
        return false
    }
}

@Suite struct PastListingTests {
    private func listing(_ count: Int) -> PastListings.Listing {
        .items((0..<count).map { HistoryView.Entry(name: [], item: 1, type: 8, cookie: Int64($0)) })
    }

    @Test func whatWasUsedLastStays() {
        var listings = PastListings()
        func node(_ number: Int) -> Node { Node(slot: 0xF000 + UInt16(number % 2), item: Int64(number)) }
        func use(_ number: Int) -> Int? { listings.use(node(number))?.count }
        for number in 0..<PastListings.countMax { listings.add(listing(3), of: node(number)) }
        #expect(use(0) == 3)
        listings.add(listing(3), of: node(1000))
        #expect(listings.count == PastListings.countMax && listings.entryCount == 3 * PastListings.countMax)
        #expect(use(1) == nil && use(0) == 3)
        listings.add(listing(PastListings.entryCountMax - 4), of: node(1001))
        #expect(listings.count == 2 && use(0) == 3)
        listings.add(listing(PastListings.entryCountMax + 1), of: node(1002))
        #expect(listings.count == 1 && listings.entryCount == PastListings.entryCountMax + 1)
        listings.add(listing(1), of: node(1003))
        #expect(listings.count == 1 && listings.entryCount == 1)
        listings.removeAll(in: 0xF000)
        #expect(listings.count == 1)
        listings.removeAll(in: 0xF001)
        #expect(listings.count == 0 && listings.entryCount == 0)
    }
}
