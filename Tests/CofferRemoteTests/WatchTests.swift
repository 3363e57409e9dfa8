import CofferFormat
import Foundation
import RemoteConformance
import Testing

@testable import CofferRemote
@testable import CofferSystem

/// Watches of folders; the tests wait for changes that must arrive, and never for time to pass.
@Suite struct WatchTests {
    private let directory: TemporaryDirectory
    private let vault = someVault()

    init() throws { directory = try TemporaryDirectory() }

    /// Reads changes until one names a prefix.
    private func wait(for prefix: RemotePrefix, _ changes: inout RemoteChanges.AsyncIterator) async {
        while let change = await changes.next() {
            if change.contains(prefix) { return }
        }
        Issue.record("the changes ended")
    }

    @Test func theFolderMayAppearLater() async throws {
        let root = "\(directory.path)/later/folder"
        let remote = FolderBackend(path: root)
        var changes = remote.changes(below: vault.logs).makeAsyncIterator()
        await wait(for: vault.logs, &changes)
        try Directory.makeAll(root)
        try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        let name = vault.commit(vault.vault, 1)
        try await remote.put(name, .memory([1]), ifAbsent: true)
        // The change arrives at the latest when the folder and everything below it is watched.
        await wait(for: vault.logs, &changes)
        try await waitUntilWatched(remote, &changes)
    }

    /// Puts until a change names exactly the place of a put: then the watch covers that place.
    private func waitUntilWatched(
        _ remote: FolderBackend, _ changes: inout RemoteChanges.AsyncIterator
    ) async throws {
        let log = vault.log(vault.vault)
        for number in 2..<10_000 as Range<UInt64> {
            try await remote.put(vault.commit(vault.vault, number), .memory([1]), ifAbsent: true)
            if await changes.next() == log { return }
        }
        Issue.record("the watch never arrived")
    }

    @Test func aReplacedFolderIsWatchedAgain() async throws {
        let root = "\(directory.path)/folder"
        try Directory.make(root)
        let remote = FolderBackend(path: root)
        try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        var changes = remote.changes(below: vault.logs).makeAsyncIterator()
        await wait(for: vault.logs, &changes)
        try await remote.put(vault.commit(vault.vault, 0), .memory([1]), ifAbsent: true)
        try await waitUntilWatched(remote, &changes)
        try FileManager.default.moveItem(atPath: root, toPath: "\(directory.path)/aside")
        try FileManager.default.copyItem(atPath: "\(directory.path)/aside", toPath: root)
        await wait(for: vault.logs, &changes)
        let log = vault.log(vault.vault)
        for number in 20_000..<30_000 as Range<UInt64> {
            try await remote.put(vault.commit(vault.vault, number), .memory([1]), ifAbsent: true)
            if await changes.next() == log { return }
        }
        Issue.record("the watch never arrived")
    }

    /// Events in a burst, of which the kernel may drop some.
    @Test func manyChangesAreNotLost() async throws {
        let remote = FolderBackend(path: directory.path)
        try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        try Directory.make("\(directory.path)/\(vault.prefix)packs")
        var changes = remote.changes(below: vault.packs).makeAsyncIterator()
        await wait(for: vault.packs, &changes)
        for number in 0..<40_000 {
            _ = try Descriptor.open(
                "\(directory.path)/\(vault.packs)x\(number % 5000)", [.writeOnly, .create])
        }
        await wait(for: vault.packs, &changes)
        try await remote.put(vault.pack(.init(low: 1, high: 1)), .memory([1]), ifAbsent: true)
        await wait(for: vault.packs, &changes)
    }

    /// Periodic listings alone, as where the kernel reports no changes.
    @Test func pollingSeesNewReplacedAndRemovedObjects() async throws {
        let remote = FolderBackend(path: directory.path)
        try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        var changes = remote.changes(
            below: vault.prefix, polling: PollSchedule(first: 1, max: 20), usesNotifications: false
        ).makeAsyncIterator()
        let name = vault.commit(vault.vault, 1)
        try await remote.put(name, .memory([1]), ifAbsent: true)
        await wait(for: vault.prefix, &changes)
        // Repeatedly, because the clock of a file system may stand still for some milliseconds.
        let writer = Task {
            while !Task.isCancelled { try await remote.put(name, .memory([2]), ifAbsent: false) }
        }
        await wait(for: vault.prefix, &changes)
        await wait(for: vault.prefix, &changes)
        writer.cancel()
        await #expect(throws: RemoteError.cancelled) {
            try await writer.value
            throw RemoteError.cancelled
        }
        try await remote.delete(name)
        await wait(for: vault.prefix, &changes)
    }

    @Test func anOverflowMeansThatAnythingMayHaveChanged() async {
        let tree = FolderTree(path: directory.path, publishing: [.link])
        let watched = WatchedDirectories(tree, below: vault.prefix)
        let mailbox = ChangeMailbox(below: vault.prefix)
        let overflow = DirectoryWatch.Event(watch: -1, kind: .overflow, name: "")
        #expect(watched.handle([overflow], mailbox), "directories may be new")
        var changes = mailbox.changes {}.makeAsyncIterator()
        #expect(await changes.next() == vault.prefix)
    }

    @Test func thePauseGrowsUntilAChange() {
        var schedule = PollSchedule(first: 10, max: 50)
        var pauses: [Int32] = []
        for hasChanged in [false, false, false, false, false, true, false] {
            schedule.looked(hasChanged: hasChanged)
            pauses.append(schedule.pause)
        }
        #expect(pauses == [16, 25, 38, 50, 50, 10, 16])
    }

    @Test func aDroppedWatchEndsItsThread() async throws {
        let remote = FolderBackend(path: directory.path)
        for _ in 0..<200 {
            // Each has three descriptors and a thread; there are not enough for all.
            var changes = remote.changes(below: .all).makeAsyncIterator()
            _ = await changes.next()
        }
    }

    @Test func pendingChangesAreBoundedAndNarrowed() async throws {
        let mailbox = ChangeMailbox(below: vault.logs)
        var changes = mailbox.changes {}.makeAsyncIterator()
        mailbox.post(vault.packs)
        mailbox.post(vault.log(vault.vault))
        mailbox.post(vault.log(vault.vault))
        #expect(await changes.next() == vault.log(vault.vault))
        for number in 0..<100 as Range<UInt64> { mailbox.post(vault.log(DeviceID(low: number, high: 0))) }
        #expect(await changes.next() == vault.logs)
        mailbox.post(.all)
        #expect(await changes.next() == vault.logs)
        mailbox.end()
        #expect(await changes.next() == nil)
    }
}
