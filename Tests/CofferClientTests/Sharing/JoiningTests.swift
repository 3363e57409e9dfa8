import CofferFormat
import CofferSystem
import CofferTrust
import CofferVault
import Foundation
import Testing

@testable import CofferClient

/// Asking to join a vault, and being admitted.
@Suite(.serialized, .ownThread) struct JoiningTests {
    private let place: MeetingPlace

    init() throws { place = try MeetingPlace() }

    @Test func publishAndJoin() throws {
        let (alice, bob) = try place.pair()
        try alice.write("from Alice", to: "a", in: "Personal")
        try bob.write("from Bob", to: "b", in: "Ours")
        for person in [alice, bob, alice] { _ = try person.sync() }
        #expect(try alice.has("b", in: "Personal") && bob.has("a", in: "Ours"))
        let report = try #require(try bob.sync().first)
        #expect(
            report.failure == nil && report.role == "writer" && report.vault == "Ours"
                && report.remote == place.url
        )
        let members = try alice.members()
        #expect(members.members.count == 2 && members.invites.isEmpty)
        #expect(members.members.contains { $0.isThis && $0.role == "owner" })
    }

    @Test func joinErrors() throws {
        let (alice, bob) = try place.pair()
        let invite = try alice.invite()
        #expect(bob.error(JoinRequest(invite: invite, name: nil, waits: false))?.caseName == "hasVault")
        let carol = try OpenProfile()
        #expect(
            carol.error(JoinRequest(invite: invite, name: "Personal", waits: false))?.caseName
                == "vaultExists")
        #expect(
            carol.error(JoinRequest(invite: invite, name: "a/b", waits: false))?.caseName
                == "invalidVaultName")
        #expect(carol.profile.joins.isEmpty)
        #expect(
            carol.error(JoinRequest(invite: try alice.invite(seconds: -1), name: nil, waits: false))?.exitCode
                == 77)
    }

    /// Two requests of one user count as one, with the first name.
    @Test func askingTwice() throws {
        let (alice, _) = try place.pair()
        let carol = try OpenProfile()
        let invite = try alice.invite("reader")
        for name in ["X", "X", nil] as [String?] {
            let report = try carol.ask(JoinRequest(invite: invite, name: name, waits: false))
            #expect(report.vault == "X")
        }
        #expect(carol.profile.joins.count == 1)
        // The name is reserved before the vault arrives.
        _ = try carol.ask(VaultRequest.create(name: "X"))
        _ = try alice.sync()
        _ = try carol.sync()
        #expect(carol.names() == ["Personal", "X", "X 2"])
        #expect(try carol.sync().first?.role == "reader")
        // A reader changes nothing.
        #expect(throws: FileSystemError.self) { try carol.write("x", to: "x", in: "X 2") }
    }

    /// A temporarily missing remote does not require a new request.
    @Test func aJoinOutlivesAMissingFolder() throws {
        let (alice, _) = try place.pair()
        let carol = try OpenProfile()
        _ = try carol.ask(JoinRequest(invite: try alice.invite(), name: "Later", waits: false))
        _ = try alice.sync()
        let away = "\(place.folder.path).away"
        try FileManager.default.moveItem(atPath: place.folder.path, toPath: away)
        _ = try carol.sync()
        #expect(carol.profile.joins.count == 1)
        // Like a mount point without a mount.
        try FileManager.default.createDirectory(atPath: place.folder.path, withIntermediateDirectories: false)
        _ = try carol.sync()
        _ = try carol.sync()
        #expect(carol.profile.joins.count == 1)
        #expect(carol.vaults.problems.all.count { $0.text.contains("Later") } <= 1)
        try FileManager.default.removeItem(atPath: place.folder.path)
        try FileManager.default.moveItem(atPath: away, toPath: place.folder.path)
        _ = try carol.sync()
        #expect(carol.names() == ["Personal", "Later"])
    }

    /// The directory of a person's identity, next to the vaults in the folder.
    private func identityDirectory(of person: OpenProfile) throws -> String {
        let chain = try person.profile.identityCard().identity.id
        let user = UserID(low: chain.low, high: chain.high).description
        let paths = try #require(FileManager.default.enumerator(atPath: place.folder.path))
        let found = paths.compactMap { $0 as? String }.first { $0.hasSuffix("identities/\(user)") }
        return "\(place.folder.path)/\(try #require(found))"
    }

    /// While a folder is being replicated, a request waits for missing objects, and says so.
    @Test func aJoinWaitsForMissingObjects() throws {
        let (alice, bob) = try place.pair()
        let carol = try OpenProfile()
        let (invite, directory) = (try alice.invite(), try identityDirectory(of: bob))
        let away = "\(place.folder.path).away"
        try FileManager.default.moveItem(atPath: directory, toPath: away)
        let error = try #require(carol.error(JoinRequest(invite: invite, name: "Later", waits: false)))
        #expect(error.exitCode == 75 && "\(error)".contains("has not arrived"))
        #expect(carol.profile.joins.isEmpty)
        let notes = Condition<[String]>([])
        let request = JoinRequest(invite: invite, name: "Later", waits: true)
        let report = try carol.handler.answer(request, isHeard: { notes.withLock { $0.isEmpty } }) {
            progress in
            guard let note = progress.note, notes.withLock({ $0.isEmpty }) else { return }
            try? FileManager.default.moveItem(atPath: away, toPath: directory)
            notes.update { $0.append(note) }
        }
        #expect(!report.isMember && carol.profile.joins.count == 1)
        #expect(notes.withLock { $0.allSatisfy { $0.contains("has not arrived") } })
        // The status names objects that go missing later, until they are back.
        _ = try alice.sync()
        try FileManager.default.moveItem(atPath: directory, toPath: away)
        _ = try carol.sync()
        let waiting = try carol.ask(StatusRequest())
        #expect(waiting.joins.first?.delay?.contains("has not arrived") == true)
        #expect(carol.vaults.problems.all.isEmpty)
        try FileManager.default.moveItem(atPath: away, toPath: directory)
        _ = try carol.sync()
        #expect(carol.names() == ["Personal", "Later"])
    }

    /// A client that disconnects no longer waits; the mount continues to ask.
    @Test func aClientThatDoesNotWait() throws {
        let (alice, _) = try place.pair()
        let carol = try OpenProfile()
        let request = JoinRequest(invite: try alice.invite(), name: nil, waits: true)
        let report = try carol.handler.answer(request, isHeard: { false }) { _ in }
        #expect(!report.isMember && carol.profile.joins.count == 1)
    }

    /// An abandoned vault directory of the same id is set aside.
    @Test func aStrayStore() throws {
        let (alice, _) = try place.pair()
        let carol = try OpenProfile()
        let text = try alice.invite()
        let path = "\(carol.test.location.vaults)/\(try Invite(text: text).vault)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try Data("precious".utf8).write(to: URL(filePath: "\(path)/index.sqlite"))
        _ = try carol.ask(JoinRequest(invite: text, name: "Ours", waits: false))
        _ = try alice.sync()
        _ = try carol.sync()
        #expect(carol.names() == ["Personal", "Ours"])
        let stray = try #require(carol.profile.strayDirectories.first)
        #expect(try Data(contentsOf: URL(filePath: "\(stray)/index.sqlite")) == Data("precious".utf8))
    }
}
