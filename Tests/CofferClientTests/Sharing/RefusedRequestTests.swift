import CofferFormat
import CofferVault
import Testing

@testable import CofferClient

/// What is refused, and how that is said.
@Suite(.serialized, .ownThread) struct RefusedRequestTests {
    private let place: MeetingPlace

    init() throws { place = try MeetingPlace() }

    @Test func errorsNameTheirObject() throws {
        let (alice, bob) = try place.pair()
        #expect("\(alice.error(.addRemote(vault: "None", url: place.url))!)".contains("None"))
        #expect(alice.error(.addRemote(vault: "Personal", url: place.url))?.caseName == "hasRemote")
        #expect(bob.error(.addRemote(vault: "Personal", url: "folder"))?.caseName == "remoteURL")
        #expect(
            bob.error(.addRemote(vault: "Personal", url: "file:///does/not/exist"))?.caseName == "remote")
        #expect(bob.error(.sync(vault: "Personal"))?.caseName == "noRemote")
        #expect(
            alice.error(.setRole(vault: "Personal", member: "Nobody", role: "admin"))?.caseName
                == "noSuchMember")
        #expect(
            alice.error(.setRole(vault: "Personal", member: "Alice", role: "admin"))?.caseName
                == "ambiguousMember")
        #expect(alice.error(.join(invite: "coffer-invite-1:", name: nil, waits: false))?.caseName == "trust")
        #expect(alice.error(.withdrawInvite(vault: "Personal", id: "abcd"))?.caseName == "noSuchInvite")
        #expect(
            alice.error(.resolveConflict(vault: "Personal", path: "a", keeps: .copy))?.caseName
                == "noSuchConflict")
        // A vault that could not be published has no share, and is as before.
        #expect(bob.profile.shares.count == 1)
    }

    /// Where all is read-only, commands that change something say so; others answer.
    @Test func readOnly() throws {
        let test = try TestProfile()
        do {
            let alice = try OpenProfile(test)
            _ = try alice.ask(.addRemote(vault: "Personal", url: place.url))
            _ = try alice.sync()
        }
        let alice = try OpenProfile(test, isReadOnly: true)
        let refused: [ControlRequest] = [
            .sync(vault: nil), .removeRemote(vault: "Personal"),
            .invite(vault: "Personal", role: "reader", seconds: 9),
            .deleteVault(name: "Personal"), .leave(vault: "Personal", successor: nil),
            .join(invite: "", name: nil, waits: true),
            .resolveConflict(vault: "Personal", path: "a", keeps: .original),
        ]
        for request in refused {
            guard case .vault(.readOnly) = alice.error(request) else {
                Issue.record("\(request)")
                continue
            }
        }
        let answered: [ControlRequest] = [
            .status, .conflicts(vault: nil), .identity, .testRemote(.vault("Personal")),
            .members(vault: "Personal"),
        ]
        for request in answered { #expect(alice.error(request) == nil, "\(request)") }
        #expect(alice.profile.shares.count == 1)
    }
}
