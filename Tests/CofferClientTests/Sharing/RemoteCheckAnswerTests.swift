import CofferFormat
import CofferVault
import Foundation
import Synchronization
import Testing

@testable import CofferClient

/// The answers of `coffer check --remote`.
@Suite(.serialized, .ownThread) struct RemoteCheckAnswerTests {
    private let place: MeetingPlace

    init() throws { place = try MeetingPlace() }

    private func check(
        _ person: OpenProfile, _ vault: String, _ depth: CheckRequest.RemoteDepth = .listed
    ) throws -> CheckReport {
        try person.ask(CheckRequest(vault: vault, remote: depth))
    }

    /// The files of objects in a directory of the vault at the remote.
    private func objects(_ directory: String) throws -> [URL] {
        let vaults = URL(filePath: place.folder.path).appending(path: "vaults")
        let vault = try #require(
            try FileManager.default.contentsOfDirectory(at: vaults, includingPropertiesForKeys: nil).first)
        return try FileManager.default.contentsOfDirectory(
            at: vault.appending(path: directory), includingPropertiesForKeys: nil)
    }

    private func shared() throws -> (alice: OpenProfile, bob: OpenProfile) {
        let (alice, bob) = try place.pair()
        try alice.write("some content", to: "a", in: "Personal")
        for person in [alice, bob] { _ = try person.sync() }
        return (alice, bob)
    }

    @Test func aWholeRemote() throws {
        let (alice, bob) = try shared()
        for (person, vault) in [(alice, "Personal"), (bob, "Ours")] {
            for depth in [CheckRequest.RemoteDepth.listed, .read] {
                let report = try check(person, vault, depth)
                let remote = try #require(report.vaults.first?.remote)
                #expect(report.isClean && report.isComplete, "\(remote)")
                #expect(remote.remote == place.url && remote.packs == 1 && remote.commits > 0)
                #expect(remote.readBytes == (depth == .read ? remote.bytes : nil))
            }
        }
        // It is not looked at unasked.
        #expect(try alice.ask(CheckRequest(vault: nil)).vaults.allSatisfy { $0.remote == nil })
    }

    @Test func aLostPack() throws {
        let test = try TestProfile()
        let bob = try OpenProfile()
        do {
            let alice = try OpenProfile(test)
            _ = try alice.ask(RemoteRequest.add(vault: "Personal", url: place.url))
            _ = try bob.ask(JoinRequest(invite: try alice.invite(), name: "Ours", waits: false))
            try alice.write("some content", to: "a", in: "Personal")
            for person in [alice, bob, alice] { _ = try person.sync() }
            for pack in try objects("packs") { try FileManager.default.removeItem(at: pack) }
            for (person, vault) in [(alice, "Personal"), (bob, "Ours")] {
                let report = try check(person, vault)
                let problem = try #require(report.vaults.first?.remote?.problems.first)
                #expect(!report.isClean && report.isComplete)
                #expect(problem.paths == ["a"] && problem.files == 1 && problem.bytes == 12)
                #expect(problem.localBytes == (person === alice ? 12 : 0))
            }
            #expect(try objects("packs").isEmpty)
        }
        // What the message says: the author's device sends it again.
        let alice = try OpenProfile(test)
        for person in [alice, bob] { _ = try person.sync() }
        for (person, vault) in [(alice, "Personal"), (bob, "Ours")] {
            let report = try check(person, vault, .read)
            #expect(report.isClean && report.isComplete)
        }
    }

    /// As the remedy for a damaged pack says.
    @Test func aDamagedPackAndItsRemedy() throws {
        let (alice, bob) = try shared()
        let pack = try #require(try objects("packs").first)
        var bytes = try Data(contentsOf: pack)
        bytes[bytes.count - 1] ^= 1
        try bytes.write(to: pack)
        #expect(try check(alice, "Personal").isClean)
        #expect(try !check(alice, "Personal", .read).isClean)
        let vault = try alice.vault("Personal")
        let file = try vault.lookup(Array("a".utf8), in: Vault.rootNumber).number
        try vault.contents.write(
            Array("some content".utf8).span.bytes, to: file, at: 0, touches: true, dropsPrivileges: false)
        for person in [alice, bob] { _ = try person.sync() }
        #expect(try check(alice, "Personal", .read).isClean)
        #expect(try check(bob, "Ours", .read).isClean)
    }

    /// A folder that is away is no damage, but not everything was checked.
    @Test func anUnreachableRemote() throws {
        let (alice, _) = try shared()
        let away = place.folder.path + ".away"
        try FileManager.default.moveItem(atPath: place.folder.path, toPath: away)
        defer { try? FileManager.default.moveItem(atPath: away, toPath: place.folder.path) }
        let report = try check(alice, "Personal", .read)
        #expect(report.isClean && !report.isComplete)
        #expect(report.vaults.first?.unchecked == [])
    }

    /// The result of a check during which the remote's folder goes away: before the given wait for the remote, or
    /// once something was read.
    private func check(
        _ person: OpenProfile, readsAll: Bool, endingAt wait: Int?
    ) throws -> RemoteCheck {
        let path = place.folder.path
        let away = path + ".away"
        defer { try? FileManager.default.moveItem(atPath: away, toPath: path) }
        let waits = Mutex(0)
        let checking = RemoteChecking(
            try person.shared.named("Personal").engine, try person.vault("Personal"),
            callCount: {
                let count = waits.withLock { count -> Int in
                    count += 1
                    return count
                }
                if count == wait { try? FileManager.default.moveItem(atPath: path, toPath: away) }
                return 0
            }, isHeard: { true })
        return checking.run(readsAll: readsAll, RemoteCheck(remote: place.url)) { done, _ in
            if done > 0 { try? FileManager.default.moveItem(atPath: path, toPath: away) }
        }
    }

    /// What was found stays in the result if the remote goes away before it is looked for again.
    @Test func aRemoteThatGoesAwayAfterTheFirstLook() throws {
        let (alice, _) = try shared()
        for key in try objects("identities") {
            try FileManager.default.removeItem(at: key.appending(path: "transient"))
        }
        let whole = try check(alice, readsAll: false, endingAt: nil)
        #expect(!whole.problems.isEmpty && whole.unchecked == [])
        // The third wait is for what is new, and the fourth for the second look.
        var keptCount = 0
        for wait in 3...4 {
            let found = try check(alice, readsAll: false, endingAt: wait)
            #expect(!found.unchecked.isEmpty, "\(wait)")
            #expect([whole.problems, []].contains(found.problems), "\(wait)")
            if !found.problems.isEmpty { keptCount += 1 }
        }
        // A slow wait counts twice.
        #expect(keptCount >= 1)
    }

    /// A pack that was read twice is damaged, whatever the remote does later.
    @Test func aRemoteThatGoesAwayAfterItsPacksWereRead() throws {
        let (alice, _) = try shared()
        let pack = try #require(try objects("packs").first)
        var bytes = try Data(contentsOf: pack)
        bytes[bytes.count - 1] ^= 1
        try bytes.write(to: pack)
        let found = try check(alice, readsAll: true, endingAt: nil)
        #expect(found.problems.map(\.paths) == [["a"]] && !found.unchecked.isEmpty)
    }

    /// A vault that cannot be opened does not look as if it had no remote.
    @Test func aVaultThatCannotBeOpened() throws {
        let test = try TestProfile()
        let path: String
        do {
            let alice = try OpenProfile(test)
            _ = try alice.ask(RemoteRequest.add(vault: "Personal", url: place.url))
            path = alice.profile.directory(of: try #require(alice.profile.vaults.first))
        }
        let elsewhere = "\(test.location.path)/elsewhere"
        try FileManager.default.moveItem(atPath: path, toPath: elsewhere)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: elsewhere)
        let alice = try OpenProfile(test)
        let report = try check(alice, "Personal")
        let vault = try #require(report.vaults.first)
        #expect(vault.damage.count == 1 && vault.remote?.remote == place.url)
        #expect(vault.remote?.problems == [] && vault.remote?.unchecked.count == 1)
        #expect(!report.isClean && !report.isComplete)
        #expect(try alice.ask(CheckRequest(vault: nil)).vaults.first?.remote == nil)
    }

    /// A transient key that another one has replaced is not missing.
    @Test func aNewTransientKey() throws {
        let (alice, bob) = try shared()
        let carol = try OpenProfile()
        _ = try carol.ask(JoinRequest(invite: try alice.invite(), name: "Theirs", waits: false))
        _ = try alice.sync()
        // Her device keeps the keys of those for whom it wraps the next epoch's.
        let member = try carol.profile.publicIdentity().id.description
        _ = try alice.ask(MemberRequest.remove(vault: "Personal", member: member))
        _ = try alice.sync()
        _ = try bob.ask(IdentityRequest.roll)
        _ = try bob.sync()
        let report = try check(alice, "Personal", .read)
        #expect(report.isClean && report.isComplete, "\(report.vaults.compactMap(\.remote))")
        for key in try objects("identities") {
            try FileManager.default.removeItem(at: key.appending(path: "transient"))
        }
        let lost = try check(alice, "Personal").vaults.first?.remote?.problems.map(\.text)
        #expect(lost?.count == 2, "\(lost ?? [])")
    }

    @Test func vaultsWithoutARemote() throws {
        let (_, bob) = try shared()
        let report = try bob.ask(CheckRequest(vault: nil, remote: .listed))
        #expect(report.vaults.map { $0.remote != nil } == [false, true])
        #expect(report.isClean && report.isComplete)
        #expect(bob.error(CheckRequest(vault: "Personal", remote: .listed))?.caseName == "noRemote")
    }
}
