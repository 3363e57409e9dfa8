import Testing

import CofferClient

/// A folder at which the vaults of several profiles meet, without a mount.
final class MeetingPlace {
    let folder: TemporaryDirectory
    var url: String { "file://\(folder.path)" }

    init() throws { folder = try TemporaryDirectory() }

    /// A user who shares a vault, and a member.
    func pair(_ role: String = "writer") throws -> (alice: OpenProfile, bob: OpenProfile) {
        let alice = try OpenProfile()
        let bob = try OpenProfile()
        _ = try alice.ask(RemoteRequest.add(vault: "Personal", url: url))
        _ = try alice.sync("Personal")
        let invite = try alice.invite(role)
        let asked = try bob.ask(JoinRequest(invite: invite, name: "Ours", waits: false))
        #expect(!asked.isMember && asked.vault == "Ours")
        _ = try alice.sync("Personal")
        _ = try bob.sync()
        #expect(bob.names() == ["Personal", "Ours"] && bob.joinCount == 0)
        return (alice, bob)
    }
}
