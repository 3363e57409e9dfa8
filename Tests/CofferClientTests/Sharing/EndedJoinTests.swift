import CofferFormat
import CofferSync
import CofferSystem
import CofferTrust
import Foundation
import Testing

import CofferClient

/// Requests to join that are not admitted or are given up, and the names of joined vaults.
@Suite(.serialized, .ownThread) struct EndedJoinTests {
    private let place: MeetingPlace

    init() throws { place = try MeetingPlace() }

    private func withdraw(_ alice: OpenProfile) throws {
        let id = try #require(try alice.members().invites.first).id
        _ = try alice.ask(MemberRequest.withdrawInvite(vault: "Personal", id: id))
        _ = try alice.sync()
    }

    @Test func aWithdrawnInviteEndsTheWaiting() throws {
        let (alice, _) = try place.pair()
        let carol = try OpenProfile()
        let (handler, invite) = (carol.handler, try alice.invite())
        let (waiting, result) = (Condition(false), Condition<ClientError?>(nil))
        Thread.detachNewThread {
            do throws(ClientError) {
                _ = try handler.respond(to: JoinRequest(invite: invite, name: nil, waits: true)) { _ in
                    waiting.update { $0 = true }
                }
            } catch {
                result.update { $0 = error }
            }
        }
        _ = waiting.wait { $0 ? true : nil }
        try withdraw(alice)
        let error = result.wait { $0 }
        guard case .joining(.notJoined(.refused(.withdrawn))) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(error.exitCode == 77 && carol.joinCount == 0)
        // The request is removed from the remote.
        _ = try alice.sync()
        let files = try FileManager.default.subpathsOfDirectory(atPath: place.folder.path)
        #expect(!files.contains { $0.contains("requests/") })
    }

    /// A user who does not wait finds it in the status.
    @Test func aWithdrawnInviteIsReportedLater() throws {
        let (alice, _) = try place.pair()
        let carol = try OpenProfile()
        _ = try carol.ask(JoinRequest(invite: try alice.invite(), name: "Theirs", waits: false))
        let before = try carol.ask(StatusRequest())
        #expect(before.joins.map(\.vault) == ["Theirs"] && before.joins.map(\.role) == ["writer"])
        try withdraw(alice)
        _ = try carol.sync()
        let after = try carol.ask(StatusRequest())
        #expect(after.joins.isEmpty)
        #expect(after.problems.contains { $0.text.contains("Theirs") && $0.text.contains("withdrawn") })
    }

    @Test(arguments: [false, true]) func givingUp(byInvite: Bool) throws {
        let (alice, _) = try place.pair()
        let carol = try OpenProfile()
        let invite = try alice.invite()
        #expect(carol.error(MemberRequest.cancelJoin("Theirs"))?.caseName == "noSuchJoin")
        _ = try carol.ask(JoinRequest(invite: invite, name: "Theirs", waits: false))
        _ = try carol.ask(MemberRequest.cancelJoin(byInvite ? invite : "Theirs"))
        #expect(carol.joinCount == 0)
        _ = try alice.sync()
        #expect(try alice.members().members.count == 2)
        // The invite is still valid.
        _ = try carol.ask(JoinRequest(invite: invite, name: "Again", waits: false))
        _ = try alice.sync()
        _ = try carol.sync()
        #expect(carol.names() == ["Personal", "Again"])
        #expect(carol.error(MemberRequest.cancelJoin("Again"))?.exitCode == 66)
    }

    @Test func givingUpWithoutTheRemote() throws {
        let (alice, _) = try place.pair()
        let carol = try OpenProfile()
        _ = try carol.ask(JoinRequest(invite: try alice.invite(), name: "Theirs", waits: false))
        try FileManager.default.removeItem(atPath: place.folder.path)
        #expect(carol.error(MemberRequest.cancelJoin("Theirs"))?.caseName == "requestStays")
        #expect(carol.joinCount == 0)
    }

    /// The vault gets the inviter's name for it; the storage does not see the name.
    @Test func theNameOfTheInviter() throws {
        let (alice, _) = try place.pair()
        let carol = try OpenProfile()
        _ = try alice.ask(VaultRequest.rename(name: "Personal", newName: "Täxes 2026"))
        let text = try alice.ask(InviteRequest.invite(vault: "Täxes 2026", role: "reader", seconds: 99))
        _ = try carol.ask(VaultRequest.create(name: "Täxes 2026"))
        let report = try carol.ask(JoinRequest(invite: text, name: nil, waits: false))
        #expect(report.vault == "Täxes 2026 2")
        let name = Data("xes 2026".utf8)
        for path in try FileManager.default.subpathsOfDirectory(atPath: place.folder.path) {
            let bytes = try? Data(contentsOf: URL(filePath: "\(place.folder.path)/\(path)"))
            #expect(bytes?.range(of: name) == nil && !path.contains("2026"))
        }
    }

    /// A name that is invalid here, or that is misleading, is not adopted.
    @Test(arguments: ["a/b", "..", "x\u{1B}[2J", "two\nlines", "a\u{202E}b", nil] as [String?])
    func unfitNames(name: String?) throws {
        let (alice, _) = try place.pair()
        let carol = try OpenProfile()
        let invite = try Invite(text: try alice.invite())
        let other = try Invite(
            to: invite.vault, root: invite.root, role: .reader, expires: invite.expires, url: invite.url,
            name: name)
        let report = try carol.ask(JoinRequest(invite: other.text, name: nil, waits: false))
        #expect(report.vault == "Shared")
    }
}
