import CofferSystem
import CofferVault
import Foundation
import Testing

import CofferClient

/// Content to keep on a device, or to evict.
@Suite(.serialized, .ownThread) struct PinTests {
    private static let text = String(repeating: "all that Alice wrote ", count: 20_000)
    private let place: MeetingPlace

    init() throws { place = try MeetingPlace() }

    /// Bob has the names of two of Alice's files, one of them in a directory, but not their content.
    private func pair() throws -> (alice: OpenProfile, bob: OpenProfile) {
        let (alice, bob) = try place.pair()
        try alice.write(Self.text, to: "a", in: "Personal")
        try alice.write(Self.text, to: "b", in: "Personal", inDirectory: "d")
        for person in [alice, bob] { _ = try person.sync() }
        #expect(try bob.missing() == 2 * Self.text.utf8.count)
        return (alice, bob)
    }

    @Test func pinnedContentIsFetchedAndListed() throws {
        let (_, bob) = try pair()
        let steps = Condition<[CofferClient.Progress]>([])
        _ = try bob.handler.respond(to: PinRequest.pin(vault: "Ours", paths: ["d"], waits: true)) { step in
            steps.update { $0.append(step) }
        }
        let last = try #require(steps.withLock { $0.last })
        #expect(last.isBytes && last.done == Self.text.utf8.count && last.total == last.done)
        #expect(try bob.missing() == Self.text.utf8.count)
        _ = try bob.ask(PinRequest.pin(vault: "Ours", paths: ["/a/"], waits: false))
        let pins = try bob.pins()
        #expect(pins.map(\.path) == ["a", "d"] && pins.map(\.files) == [1, 1])
        #expect(pins.map(\.missingBytes) == [Int64(Self.text.utf8.count), 0])
        let status = try bob.ask(StatusRequest())
        let pinned = try #require(status.vaults.last?.pinned)
        #expect(pinned.paths == 2 && pinned.files == 2 && pinned.missingBytes == Int64(Self.text.utf8.count))
        #expect(status.vaults.first?.pinned == nil)
        // Unpinned content stays, and is read without the remote.
        _ = try bob.ask(UnpinRequest(vault: "Ours", paths: ["a"]))
        #expect(bob.error(UnpinRequest(vault: "Ours", paths: ["a"]))?.caseName == "notPinned")
        #expect(bob.error(UnpinRequest(vault: "Ours", paths: ["d/b"]))?.caseName == "notPinned")
        #expect(
            bob.error(PinRequest.pin(vault: "Ours", paths: ["none"], waits: false))?.caseName == "noSuchPath")
        #expect(
            bob.error(PinRequest.pin(vault: "Personal", paths: [""], waits: false))?.caseName == "noRemote")
        #expect(try bob.pins().map(\.path) == ["d"])
        #expect(try bob.check("Ours") == [])
    }

    /// In a mount, content from elsewhere gives a file another inode.
    @Test func aVersionFromElsewhereIsPinned() throws {
        let (alice, bob) = try pair()
        let vault = try bob.vault("Ours")
        vault.setSink(Mount())
        _ = try bob.ask(PinRequest.pin(vault: "Ours", paths: ["a"], waits: true))
        let before = try vault.lookup(Array("a".utf8), in: Vault.rootNumber).number
        let theirs = try alice.vault("Personal")
        let number = try theirs.lookup(Array("a".utf8), in: Vault.rootNumber).number
        let bytes = Array("another text".utf8)
        try theirs.contents.write(bytes.span.bytes, to: number, at: 0, touches: true, dropsPrivileges: false)
        for person in [alice, bob] { _ = try person.sync() }
        #expect(try vault.lookup(Array("a".utf8), in: Vault.rootNumber).number != before)
        #expect(try bob.pins().map(\.path) == ["a"])
        // It is not forgotten either when something else is pinned.
        _ = try bob.ask(PinRequest.pin(vault: "Ours", paths: ["d"], waits: false))
        #expect(try bob.pins().map(\.path) == ["a", "d"])
        _ = try bob.ask(UnpinRequest(vault: "Ours", paths: ["a"]))
        #expect(try bob.pins().map(\.path) == ["d"])
    }

    /// A mount in which programs may have everything open, and that shows no changes.
    private struct Mount: ChangeSink {
        func begin() {}
        func note(_ changes: [VaultChange], in vault: Vault) {}
        func end() {}
        func noteAtOnce(_ change: VaultChange, in vault: Vault) {}
        func knows(_ item: Int64) -> Bool { true }
        func flush(_ item: Int64) {}
        func awaitShown() {}
    }

    /// The limit evicts everything except pinned content, including later content of pinned directories.
    @Test func theCacheLimitKeepsPinnedContent() throws {
        let (alice, bob) = try pair()
        _ = try bob.ask(PinRequest.pin(vault: "Ours", paths: ["d"], waits: true))
        try alice.write(Self.text, to: "c", in: "Personal", inDirectory: "d")
        for person in [alice, bob] { _ = try person.sync() }
        _ = try bob.ask(PinRequest.pin(vault: "Ours", paths: ["", "d"], waits: true))
        #expect(try bob.missing() == 0)
        _ = try bob.ask(UnpinRequest(vault: "Ours", paths: [""]))
        _ = try bob.ask(VaultRequest.limitCache(vault: "Ours", to: 0))
        #expect(try waitUntil { try bob.missing() > 0 })
        let vault = try bob.vault("Ours")
        try vault.cache.evict(to: 0, keeping: Set(try vault.cache.pinnedFiles()).contains)
        #expect(try bob.missing() == Self.text.utf8.count)
        #expect(try bob.pins().map(\.missingBytes) == [0])
    }

    /// Pins outlast the process, and a mount fetches the changes of others.
    @Test func changesOfOthersAreFetchedInTheBackground() throws {
        let (alice, test) = (try OpenProfile(), try TestProfile())
        _ = try alice.ask(RemoteRequest.add(vault: "Personal", url: place.url))
        try alice.write(Self.text, to: "b", in: "Personal", inDirectory: "d")
        do {
            let bob = try OpenProfile(test)
            _ = try bob.ask(JoinRequest(invite: try alice.invite(), name: "Ours", waits: false))
            for person in [alice, bob] { _ = try person.sync() }
            _ = try bob.ask(PinRequest.pin(vault: "Ours", paths: ["d"], waits: false))
            #expect(try bob.missing() == Self.text.utf8.count)
        }
        let bob = try OpenProfile(test)
        #expect(try bob.pins().map(\.path) == ["d"])
        bob.startSyncing()
        #expect(try waitUntil { try bob.missing() == 0 })
        try alice.write(Self.text, to: "c", in: "Personal", inDirectory: "d")
        try alice.write(Self.text, to: "a", in: "Personal")
        _ = try alice.sync()
        #expect(try waitUntil { try bob.has("a", in: "Ours") && bob.pins().map(\.files) == [2] })
        #expect(try waitUntil { try bob.pins().map(\.missingBytes) == [0] })
        #expect(try bob.missing() == Self.text.utf8.count)
    }

    @Test func aMissingRemote() throws {
        let (_, bob) = try pair()
        try FileManager.default.moveItem(atPath: place.folder.path, toPath: place.folder.path + ".away")
        defer {
            try? FileManager.default.moveItem(atPath: place.folder.path + ".away", toPath: place.folder.path)
        }
        let error = bob.error(PinRequest.pin(vault: "Ours", paths: ["a"], waits: true))
        #expect(error?.caseName == "notFetched" && error?.exitCode == 74)
        // It is pinned all the same.
        #expect(try bob.pins().map(\.path) == ["a"])
    }

    /// A client that no longer waits ends the fetching, and the pin stays.
    @Test func aClientThatStopsWaiting() throws {
        let (_, bob) = try pair()
        _ = try bob.handler.respond(
            to: PinRequest.pin(vault: "Ours", paths: ["d"], waits: true), isHeard: { false }
        ) { _ in
        }
        #expect(try bob.missing() == 2 * Self.text.utf8.count)
        #expect(try bob.pins().map(\.path) == ["d"])
    }

    @Test func whatIsGivenUpIsFetchedAgain() throws {
        let (_, bob) = try pair()
        _ = try bob.ask(PinRequest.pin(vault: "Ours", paths: [""], waits: true))
        _ = try bob.ask(UnpinRequest(vault: "Ours", paths: [""]))
        _ = try bob.ask(PinRequest.pin(vault: "Ours", paths: ["d"], waits: true))
        try bob.write("mine", to: "new", in: "Ours")
        let report = try bob.evict([""])
        #expect(report.evictedBytes == Int64(Self.text.utf8.count))
        #expect(report.kept.map(\.reason) == ["unsent", "pinned"])
        #expect(report.kept.map(\.bytes) == [4, Int64(Self.text.utf8.count)])
        #expect(try bob.missing() == Self.text.utf8.count)
        #expect(try bob.read("a", in: "Ours") == Self.text)
        _ = try bob.sync()
        let again = try bob.evict(["a", "new"])
        #expect(again.evictedBytes == Int64(Self.text.utf8.count + 4) && again.kept.isEmpty)
        #expect(try bob.read("new", in: "Ours") == "mine")
        #expect(try bob.check("Ours") == [])
    }

    /// A removed file is no longer pinned, and its number does not affect another file.
    @Test func removedPinsAreNotListed() throws {
        let (_, bob) = try pair()
        _ = try bob.ask(PinRequest.pin(vault: "Ours", paths: ["a", "d"], waits: false))
        _ = try bob.vault("Ours").unlink(Array("a".utf8), in: Vault.rootNumber)
        #expect(try bob.pins().map(\.path) == ["d"])
    }
}

extension OpenProfile {
    fileprivate func write(
        _ text: String, to name: String, in vault: String, inDirectory directory: String
    ) throws {
        let vault = try self.vault(vault)
        let parent: Int64
        do {
            parent = try vault.lookup(Array(directory.utf8), in: Vault.rootNumber).number
        } catch {
            parent = try vault.create(
                Vault.NewItem(mode: 0o040755), named: Array(directory.utf8), in: Vault.rootNumber,
                by: OpenProfile.caller
            ).number
        }
        let item = try vault.create(
            Vault.NewItem(mode: 0o100644), named: Array(name.utf8), in: parent, by: OpenProfile.caller)
        let bytes = Array(text.utf8)
        try vault.contents.write(
            bytes.span.bytes, to: item.number, at: 0, touches: true, dropsPrivileges: false)
    }

    fileprivate func missing() throws -> Int { Int(try vault("Ours").cache.missingContent().bytes) }

    fileprivate func pins() throws -> [PinReport] {
        try ask(PinRequest.list(vault: nil))
    }

    fileprivate func evict(_ paths: [String]) throws -> EvictReport {
        try ask(EvictRequest(vault: "Ours", paths: paths))
    }

    /// The findings of a check.
    fileprivate func check(_ vault: String) throws -> [String] {
        let report = try ask(CheckRequest(vault: vault))
        return report.vaults.flatMap(\.damage).map(\.text)
    }
}
