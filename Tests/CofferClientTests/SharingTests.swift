import CofferCrypto
import CofferFUSE
import CofferFormat
import CofferRemote
import CofferSync
import CofferSystem
import CofferTrust
import CofferVault
import Foundation
import Testing

@testable import CofferClient

/// Somebody with a profile that is open, as a command opens it: nothing runs in the background.
private final class Person {
    let test: TestProfile
    let vaults: OpenVaults
    let shared: SharedVaults
    let handler: ControlHandler

    init(_ test: TestProfile, isReadOnly: Bool = false) throws {
        self.test = test
        vaults = OpenVaults(try test.unlock(), problems: ProblemLog(), isReadOnly: isReadOnly)
        shared = SharedVaults(vaults)
        handler = ControlHandler(vaults, shared, mountPoint: nil) { _ in }
    }

    convenience init() throws { try self.init(try TestProfile()) }

    deinit {
        shared.stop()
        vaults.close()
    }

    var profile: Profile { vaults.profile }

    func ask(_ request: ControlRequest) throws(ProfileError) -> ControlResponse {
        try handler.answer(request) { _ in }
    }

    func invite(_ role: String = "writer", seconds: Int64 = 3600) throws -> String {
        guard case .text(let text) = try ask(.invite(vault: "Personal", role: role, seconds: seconds)) else {
            throw ProfileError.otherAnswer
        }
        return text
    }

    func vault(_ name: String) throws -> Vault { try #require(vaults.vault(named: Array(name.utf8))).vault }

    func write(_ text: String, to name: String, in vault: String) throws {
        let vault = try self.vault(vault)
        let item = try vault.create(
            Vault.NewItem(mode: 0o100644), named: Array(name.utf8), in: Vault.rootNumber, by: .current)
        let bytes = Array(text.utf8)
        try vault.write(bytes.span.bytes, to: item.number, at: 0, touches: true, dropsPrivileges: false)
    }

    func has(_ name: String, in vault: String) throws -> Bool {
        (try? self.vault(vault).lookup(Array(name.utf8), in: Vault.rootNumber)) != nil
    }

    func names() -> [String] { vaults.vaults.map(\.name) }

    func sync(_ vault: String? = nil) throws -> [SyncReport] {
        guard case .sync(let reports) = try ask(.sync(vault: vault)) else { throw ProfileError.otherAnswer }
        return reports
    }

    func members(_ vault: String = "Personal") throws -> MembersReport {
        guard case .members(let report) = try ask(.members(vault: vault)) else {
            throw ProfileError.otherAnswer
        }
        return report
    }
}

/// Vaults of two profiles that meet in a folder, without a mount.
@Suite(.serialized, .ownThread) struct SharingTests {
    private let folder: TemporaryDirectory
    private var url: String { "file://\(folder.path)" }

    init() throws { folder = try TemporaryDirectory() }

    private func error(_ person: Person, _ request: ControlRequest) -> ProfileError? {
        profileError { () throws(ProfileError) in try person.ask(request) }
    }

    /// Somebody whose vault is at the remote, and somebody who is a member.
    private func pair() throws -> (alice: Person, bob: Person) {
        let (alice, bob) = (try Person(), try Person())
        _ = try alice.ask(.addRemote(vault: "Personal", url: url))
        _ = try alice.sync("Personal")
        let invite = try alice.invite()
        guard case .joined(let asked) = try bob.ask(.join(invite: invite, name: "Ours", waits: false)) else {
            throw ProfileError.otherAnswer
        }
        #expect(!asked.isMember && asked.vault == "Ours")
        _ = try alice.sync("Personal")
        _ = try bob.sync()
        #expect(bob.names() == ["Personal", "Ours"] && bob.profile.joins.isEmpty)
        return (alice, bob)
    }

    @Test func publishAndJoin() throws {
        let (alice, bob) = try pair()
        try alice.write("from Alice", to: "a", in: "Personal")
        try bob.write("from Bob", to: "b", in: "Ours")
        for person in [alice, bob, alice] { _ = try person.sync() }
        #expect(try alice.has("b", in: "Personal") && bob.has("a", in: "Ours"))
        let report = try #require(try bob.sync().first)
        #expect(
            report.failure == nil && report.role == "writer" && report.vault == "Ours" && report.remote == url
        )
        let members = try alice.members()
        #expect(members.members.count == 2 && members.invites.isEmpty)
        #expect(members.members.contains { $0.isThis && $0.role == "owner" })
    }

    @Test func errorsNameTheirObject() throws {
        let (alice, bob) = try pair()
        #expect("\(error(alice, .addRemote(vault: "None", url: url))!)".contains("None"))
        #expect(error(alice, .addRemote(vault: "Personal", url: url))?.caseName == "hasRemote")
        #expect(error(bob, .addRemote(vault: "Personal", url: "folder"))?.caseName == "remoteURL")
        #expect(
            error(bob, .addRemote(vault: "Personal", url: "file:///does/not/exist"))?.caseName == "remote")
        #expect(error(bob, .sync(vault: "Personal"))?.caseName == "noRemote")
        #expect(
            error(alice, .setRole(vault: "Personal", member: "Nobody", role: "admin"))?.caseName
                == "noSuchMember")
        #expect(
            error(alice, .setRole(vault: "Personal", member: "Alice", role: "admin"))?.caseName
                == "ambiguousMember")
        #expect(error(alice, .join(invite: "coffer-invite-1:", name: nil, waits: false))?.caseName == "trust")
        #expect(error(alice, .withdrawInvite(vault: "Personal", id: "abcd"))?.caseName == "trust")
        #expect(
            error(alice, .resolveConflict(vault: "Personal", path: "a", keeps: .copy))?.caseName
                == "noSuchConflict")
        // A vault that could not be published has no share, and is as before.
        #expect(bob.profile.shares.count == 1)
    }

    @Test func joinErrors() throws {
        let (alice, bob) = try pair()
        let invite = try alice.invite()
        #expect(error(bob, .join(invite: invite, name: nil, waits: false))?.caseName == "hasVault")
        let carol = try Person()
        #expect(
            error(carol, .join(invite: invite, name: "Personal", waits: false))?.caseName == "vaultExists")
        #expect(
            error(carol, .join(invite: invite, name: "a/b", waits: false))?.caseName == "invalidVaultName")
        #expect(carol.profile.joins.isEmpty)
        #expect(
            error(carol, .join(invite: try alice.invite(seconds: -1), name: nil, waits: false))?.exitCode
                == 77)
    }

    /// Who asks twice is one who asks, with the name that was given first.
    @Test func askingTwice() throws {
        let (alice, _) = try pair()
        let carol = try Person()
        let invite = try alice.invite("reader")
        for name in ["X", "X", nil] as [String?] {
            guard case .joined(let report) = try carol.ask(.join(invite: invite, name: name, waits: false))
            else {
                Issue.record("not joined")
                return
            }
            #expect(report.vault == "X")
        }
        #expect(carol.profile.joins.count == 1)
        // The name is taken before the vault is there.
        _ = try carol.ask(.createVault(name: "X"))
        _ = try alice.sync()
        _ = try carol.sync()
        #expect(carol.names() == ["Personal", "X", "X 2"])
        #expect(try carol.sync().first?.role == "reader")
        // A reader changes nothing.
        #expect(throws: FileSystemError.self) { try carol.write("x", to: "x", in: "X 2") }
    }

    /// A remote that is away for a while does not make anybody ask again.
    @Test func aJoinOutlivesAMissingFolder() throws {
        let (alice, _) = try pair()
        let carol = try Person()
        _ = try carol.ask(.join(invite: try alice.invite(), name: "Later", waits: false))
        _ = try alice.sync()
        let away = "\(folder.path).away"
        try FileManager.default.moveItem(atPath: folder.path, toPath: away)
        _ = try carol.sync()
        #expect(carol.profile.joins.count == 1)
        // As a mount point on which nothing is mounted.
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: false)
        _ = try carol.sync()
        _ = try carol.sync()
        #expect(carol.profile.joins.count == 1)
        #expect(carol.vaults.problems.all.count { $0.text.contains("Later") } <= 1)
        try FileManager.default.removeItem(atPath: folder.path)
        try FileManager.default.moveItem(atPath: away, toPath: folder.path)
        _ = try carol.sync()
        #expect(carol.names() == ["Personal", "Later"])
    }

    /// The log stays the same, whose commits were sent or not.
    @Test func aRemoteIsTakenAwayAndGivenBack() throws {
        let (alice, bob) = try pair()
        let log = try #require(alice.profile.shares.first).log
        try alice.write("x", to: "before", in: "Personal")
        _ = try alice.ask(.removeRemote(vault: "Personal"))
        #expect(error(alice, .sync(vault: "Personal"))?.caseName == "noRemote")
        try alice.write("x", to: "between", in: "Personal")
        let other = try TemporaryDirectory()
        #expect(
            error(alice, .addRemote(vault: "Personal", url: "file://\(other.path)"))?.caseName
                == "otherRemote")
        #expect(alice.shared.all.isEmpty)
        _ = try alice.ask(.addRemote(vault: "Personal", url: url))
        #expect(alice.profile.shares.map(\.log) == [log])
        for person in [alice, bob] { _ = try person.sync() }
        #expect(try bob.has("before", in: "Ours") && bob.has("between", in: "Ours"))
        #expect(try bob.sync().first?.failure == nil)
    }

    /// A remote that was moved is found at its new place.
    @Test func aMovedRemote() throws {
        let (alice, bob) = try pair()
        _ = try alice.ask(.removeRemote(vault: "Personal"))
        let place = try TemporaryDirectory()
        let moved = "\(place.path)/moved"
        try FileManager.default.copyItem(atPath: folder.path, toPath: moved)
        _ = try alice.ask(.addRemote(vault: "Personal", url: "file://\(moved)"))
        #expect(try alice.sync().first?.failure == nil)
        _ = bob
    }

    @Test func aProfileIsOpenedAgain() throws {
        let test = try TestProfile()
        var invite = ""
        do {
            let alice = try Person(test)
            _ = try alice.ask(.addRemote(vault: "Personal", url: url))
            invite = try alice.invite()
        }
        do {
            let alice = try Person(test)
            #expect(try alice.members().invites.count == 1)
            let bob = try Person()
            _ = try bob.ask(.join(invite: invite, name: nil, waits: false))
            _ = try alice.sync()
            _ = try bob.sync()
            #expect(bob.names() == ["Personal", "Shared"])
            #expect(try alice.members().invites.isEmpty)
        }
        // What is given up stays so.
        do { _ = try Person(test).ask(.removeRemote(vault: "Personal")) }
        let alice = try Person(test)
        #expect(
            alice.shared.all.isEmpty && alice.profile.shares.count == 1 && alice.vaults.problems.all.isEmpty)
    }

    @Test func removedAndLeft() throws {
        let (alice, bob) = try pair()
        let other = try #require(try alice.members().members.first { !$0.isThis })
        _ = try alice.ask(.removeMember(vault: "Personal", member: String(other.identity.prefix(16))))
        #expect(try alice.members().members.count == 1)
        guard case .removals(let removals) = try alice.ask(.removals(vault: "Personal")) else {
            Issue.record("no removals")
            return
        }
        #expect(removals.map(\.identity) == [other.identity] && removals.map(\.lastEpoch) == [1])
        #expect(alice.profile.vaults.first?.keys.count == 2, "a new key")
        #expect(error(bob, .sync(vault: "Ours"))?.caseName == "sync")
        // The only owner cannot leave without a successor.
        #expect(error(alice, .leave(vault: "Personal", successor: nil)) != nil)
    }

    @Test func leaving() throws {
        let (alice, bob) = try pair()
        _ = try bob.ask(.leave(vault: "Ours", successor: nil))
        _ = try alice.sync()
        #expect(try alice.members().members.count == 1)
        #expect(try bob.has("none", in: "Ours") == false, "the vault is still there")
    }

    /// A deleted vault is synced no more, whoever deleted it; it can be joined again.
    @Test func aDeletedVault() throws {
        let (alice, bob) = try pair()
        _ = try bob.ask(.deleteVault(name: "Ours"))
        #expect(bob.shared.all.isEmpty && bob.profile.shares.isEmpty)
        _ = try bob.ask(.join(invite: try alice.invite(), name: "Again", waits: false))
        _ = try alice.sync()
        _ = try bob.sync()
        #expect(bob.names() == ["Personal", "Again"])
        // As rmdir does it.
        try bob.vaults.removeEmptyVault(named: Array("Again".utf8))
        #expect(bob.shared.all.isEmpty && bob.profile.shares.isEmpty)
    }

    @Test func aRenamedVault() throws {
        let (alice, _) = try pair()
        _ = try alice.ask(.renameVault(name: "Personal", newName: "New"))
        #expect(try alice.sync().map(\.vault) == ["New"])
        #expect("\(error(alice, .setRole(vault: "New", member: "X", role: "admin"))!)".contains("New"))
    }

    /// Where a vault of the same id was left behind, it is put aside.
    @Test func aStrayStore() throws {
        let (alice, _) = try pair()
        let carol = try Person()
        let text = try alice.invite()
        let path = "\(carol.test.location.vaults)/\(try Invite(text: text).vault)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try Data("precious".utf8).write(to: URL(filePath: "\(path)/index.sqlite"))
        _ = try carol.ask(.join(invite: text, name: "Ours", waits: false))
        _ = try alice.sync()
        _ = try carol.sync()
        #expect(carol.names() == ["Personal", "Ours"])
        let stray = try #require(carol.profile.strayDirectories.first)
        #expect(try Data(contentsOf: URL(filePath: "\(stray)/index.sqlite")) == Data("precious".utf8))
    }

    /// Where all is read-only, commands that change something say so; others answer.
    @Test func readOnly() throws {
        let test = try TestProfile()
        do {
            let alice = try Person(test)
            _ = try alice.ask(.addRemote(vault: "Personal", url: url))
            _ = try alice.sync()
        }
        let alice = try Person(test, isReadOnly: true)
        let refused: [ControlRequest] = [
            .sync(vault: nil), .removeRemote(vault: "Personal"),
            .invite(vault: "Personal", role: "reader", seconds: 9),
            .deleteVault(name: "Personal"), .leave(vault: "Personal", successor: nil),
            .join(invite: "", name: nil, waits: true),
            .resolveConflict(vault: "Personal", path: "a", keeps: .original),
        ]
        for request in refused {
            guard case .vault(.readOnly) = error(alice, request) else {
                Issue.record("\(request)")
                continue
            }
        }
        let answered: [ControlRequest] = [
            .status, .conflicts(vault: nil), .identity, .testRemote(.vault("Personal")),
            .members(vault: "Personal"),
        ]
        for request in answered { #expect(error(alice, request) == nil, "\(request)") }
        #expect(alice.profile.shares.count == 1)
    }

    @Test func anotherCommandIsAtIt() throws {
        let (alice, _) = try pair()
        let id = try #require(alice.profile.shares.first).vault
        try alice.shared.alone(id, "Personal") { () throws(ProfileError) in
            #expect(error(alice, .removeRemote(vault: "Personal"))?.caseName == "vaultBusy")
            #expect(error(alice, .deleteVault(name: "Personal"))?.caseName == "vaultBusy")
        }
        #expect(error(alice, .removeRemote(vault: "Personal")) == nil)
    }

    /// Sync in the background, and its end while somebody waits to be admitted.
    @Test func background() throws {
        let (alice, bob) = try pair()
        for person in [alice, bob] { person.shared.start() }
        try alice.write("x", to: "live", in: "Personal")
        for _ in 0..<1000 where try !bob.has("live", in: "Ours") { usleep(10_000) }
        #expect(try bob.has("live", in: "Ours"))
        alice.shared.stop()
        let carol = try Person()
        let handler = carol.handler
        let request = ControlRequest.join(invite: try alice.invite(), name: nil, waits: true)
        let result = Condition<ProfileError?>(nil)
        let waiting = Condition(false)
        Thread.detachNewThread {
            do throws(ProfileError) {
                _ = try handler.answer(request) { _ in waiting.update { $0 = true } }
            } catch {
                result.update { $0 = error }
            }
        }
        _ = waiting.wait { $0 ? true : nil }
        carol.shared.stop()
        #expect(result.wait { $0 }.caseName == "joinInterrupted")
        #expect(carol.profile.joins.count == 1)
    }

    /// Who hangs up waits no more; the mount goes on asking.
    @Test func nobodyWaits() throws {
        let (alice, _) = try pair()
        let carol = try Person()
        let request = ControlRequest.join(invite: try alice.invite(), name: nil, waits: true)
        let answer = try carol.handler.answer(request, isHeard: { false }) { _ in }
        guard case .joined(let report) = answer else {
            Issue.record("not joined")
            return
        }
        #expect(!report.isMember && carol.profile.joins.count == 1)
    }

    @Test func identities() throws {
        let (alice, bob) = try pair()
        guard case .identity(let own) = try bob.ask(.identity), let card = own.card else {
            Issue.record("no card")
            return
        }
        #expect(own.name == "Alice" && own.identity.count == 64)
        let target = IdentityTarget.card(card)
        #expect(error(alice, .verify(target, words: "one two"))?.caseName == "otherWords")
        guard case .identity(let before) = try alice.ask(.verify(target, words: nil)),
            case .identity(let after) = try alice.ask(.verify(target, words: own.fingerprint))
        else { return }
        #expect(!before.isVerified && after.isVerified)
        #expect(try alice.members().members.first { $0.identity == own.identity }?.isVerified == true)
        #expect(error(alice, .verify(.card("nonsense"), words: nil))?.caseName == "trust")
    }
}

/// What `coffer remote test` does.
@Suite(.ownThread) struct RemoteTestTests {
    @Test func aFolder() throws {
        let folder = try TemporaryDirectory()
        let remote = FolderBackend(path: folder.path)
        let report = Waiting.run { await RemoteTest(remote).run() }
        #expect(report.isUsable, "\(report.steps)")
        #expect(
            report.steps.map(\.name) == [
                "begin", "put 4 MiB", "refuse what exists", "get a range", "list", "delete",
            ])
        // Nothing that has bytes is left.
        let left = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { path in
            var isDirectory: ObjCBool = false
            let isThere = FileManager.default.fileExists(
                atPath: "\(folder.path)/\(path)", isDirectory: &isDirectory)
            return isThere && !isDirectory.boolValue
        }
        #expect(left.isEmpty, "\(left)")
    }

    @Test func noFolder() {
        let report = Waiting.run { await RemoteTest(FolderBackend(path: "/does/not/exist")).run() }
        #expect(!report.isUsable && report.steps.first?.failure != nil)
        #expect(report.steps.map(\.name) == ["begin", "delete"])
    }
}

/// A remote that never answers keeps nobody.
@Suite(.serialized, .ownThread) struct SilentRemoteTests {
    private struct Silent: RemoteBackend {
        let limits = RemoteLimits(
            objectByteCountMax: 1 << 30, rangeByteCountMax: 1 << 20, concurrentCallsMax: 8)

        func describe() -> String { "silence" }
        private func hang() async -> RemoteError {
            while (try? await Task.sleep(for: .seconds(3600))) != nil {}
            return .cancelled
        }
        func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
            throw await hang()
        }
        func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
            throw await hang()
        }
        func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
            throw await hang()
        }
        func delete(_ name: RemoteName) async throws(RemoteError) { throw await hang() }
        func changes(below prefix: RemotePrefix) -> RemoteChanges { RemoteChanges { $0.finish() } }
    }

    /// Who reads what is at the remote gets an error when the mount ends, and does not begin again.
    @Test func waitingReadsEnd() throws {
        let packs = RemotePacks(Silent(), RemoteLayout(VaultID(low: 1, high: 2)))
        let (asked, failed) = (Condition(false), Condition(false))
        Thread.detachNewThread {
            asked.update { $0 = true }
            do throws(TransferError) {
                _ = try packs.fetch(PackID(low: 3, high: 4), 0..<10)
            } catch {
                failed.update { $0 = true }
            }
        }
        _ = asked.wait { $0 ? true : nil }
        packs.stop()
        #expect(failed.wait { $0 ? true : nil })
        #expect(throws: TransferError.self) { _ = try packs.fetch(PackID(low: 3, high: 4), 0..<10) }
    }

    @Test func waitingIsBounded() {
        let value: Int? = Waiting.run(atMost: 1_000_000) {
            while (try? await Task.sleep(for: .seconds(1))) != nil {}
            return 1
        }
        #expect(value == nil)
    }
}
