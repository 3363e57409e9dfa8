import Testing

import CofferClient
import CofferFUSE

/// Shared vaults in the list of vaults.
@Suite(.serialized, .ownThread) struct SharedVaultListTests {
    private let place: MeetingPlace

    init() throws { place = try MeetingPlace() }

    /// A deleted vault is no longer synced, whoever deleted it; it can be joined again.
    @Test func aDeletedVault() throws {
        let (alice, bob) = try place.pair()
        _ = try bob.ask(VaultRequest.delete(name: "Ours"))
        #expect(bob.syncedCount == 0 && bob.shareCount == 0)
        _ = try bob.ask(JoinRequest(invite: try alice.invite(), name: "Again", waits: false))
        _ = try alice.sync()
        _ = try bob.sync()
        #expect(bob.names() == ["Personal", "Again"])
        // Like rmdir.
        try bob.vaults.removeEmptyVault(named: Array("Again".utf8))
        #expect(bob.syncedCount == 0 && bob.shareCount == 0)
    }

    @Test func aRenamedVault() throws {
        let (alice, _) = try place.pair()
        _ = try alice.ask(VaultRequest.rename(name: "Personal", newName: "New"))
        #expect(try alice.sync().map(\.vault) == ["New"])
        #expect(
            "\(alice.error(MemberRequest.setRole(vault: "New", member: "X", role: "admin"))!)".contains("New")
        )
    }
}
