import CofferFormat
import CofferVault
import Testing

import CofferClient

/// Refused requests, and their messages.
@Suite(.serialized, .ownThread) struct RefusedRequestTests {
    private let place: MeetingPlace

    init() throws { place = try MeetingPlace() }

    @Test func errorsNameTheirObject() throws {
        let (alice, bob) = try place.pair()
        #expect("\(alice.error(RemoteRequest.add(vault: "None", url: place.url))!)".contains("None"))
        #expect(alice.error(RemoteRequest.add(vault: "Personal", url: place.url))?.caseName == "hasRemote")
        #expect(bob.error(RemoteRequest.add(vault: "Personal", url: "folder"))?.caseName == "remoteURL")
        #expect(
            bob.error(RemoteRequest.add(vault: "Personal", url: "file:///does/not/exist"))?.caseName
                == "remoteFailed")
        #expect(bob.error(SyncRequest(vault: "Personal"))?.caseName == "noRemote")
        #expect(
            alice.error(MemberRequest.setRole(vault: "Personal", member: "Nobody", role: "admin"))?.caseName
                == "noSuchMember")
        #expect(
            alice.error(MemberRequest.setRole(vault: "Personal", member: "Alice", role: "admin"))?.caseName
                == "ambiguousMember")
        #expect(
            alice.error(JoinRequest(invite: "coffer-invite-1:", name: nil, waits: false))?.caseName == "trust"
        )
        #expect(
            alice.error(MemberRequest.withdrawInvite(vault: "Personal", id: "abcd"))?.caseName
                == "noSuchInvite")
        #expect(
            alice.error(ResolveRequest(vault: "Personal", path: "a", keeps: .copy))?.caseName
                == "noSuchConflict")
        // A vault that could not be published is not shared, and is unchanged.
        #expect(bob.shareCount == 1)
    }

    /// In a read-only mount, commands that change something are refused; others answer.
    @Test func readOnly() throws {
        let test = try TestProfile()
        do {
            let alice = try OpenProfile(test)
            _ = try alice.ask(RemoteRequest.add(vault: "Personal", url: place.url))
            _ = try alice.sync()
        }
        let alice = try OpenProfile(test, isReadOnly: true)
        let refused: [any ControlRequest] = [
            SyncRequest(vault: nil), RemoteRequest.remove(vault: "Personal"),
            InviteRequest.invite(vault: "Personal", role: "reader", seconds: 9),
            VaultRequest.delete(name: "Personal"), MemberRequest.leave(vault: "Personal", successor: nil),
            JoinRequest(invite: "", name: nil, waits: true),
            ResolveRequest(vault: "Personal", path: "a", keeps: .original),
        ]
        for request in refused {
            guard case .vault(.readOnly) = alice.error(request) else {
                Issue.record("\(request)")
                continue
            }
        }
        let answered: [any ControlRequest] = [
            StatusRequest(), ConflictsRequest(vault: nil), IdentityRequest.show,
            RemoteTestRequest.vault("Personal"),
            MembersRequest(vault: "Personal"),
        ]
        for request in answered { #expect(alice.error(request) == nil, "\(request)") }
        #expect(alice.shareCount == 1)
    }
}
