import CofferFUSE
import CofferFormat
import CofferVault
import Testing

@testable import CofferClient

/// A mount knows from its first moment whether it may write, before it reads the members.
@Suite(.serialized, .ownThread) struct KnownRoleTests {
    private let place: MeetingPlace

    init() throws { place = try MeetingPlace() }

    /// Alice's vault, and the closed profile of a user who has become a member.
    private func member(_ role: String) throws -> (alice: OpenProfile, bob: TestProfile) {
        let alice = try OpenProfile()
        _ = try alice.ask(RemoteRequest.add(vault: "Personal", url: place.url))
        let test = try TestProfile()
        let bob = try OpenProfile(test)
        _ = try bob.ask(JoinRequest(invite: try alice.invite(role), name: "Ours", waits: false))
        _ = try alice.sync()
        _ = try bob.sync()
        return (alice, test)
    }

    /// Whether a user may write as soon as the profile is open.
    private func mayWrite(_ test: TestProfile, _ name: String) throws -> Bool {
        let person = try OpenProfile(test)
        do throws(FileSystemError) {
            try person.make(name, in: "Ours")
            return true
        } catch {
            guard case .readOnly = error else { throw error }
            return false
        }
    }

    @Test func aReader() throws {
        let (_, bob) = try member("reader")
        #expect(try !mayWrite(bob, "a"))
    }

    @Test func rolesThatChange() throws {
        let (alice, bob) = try member("writer")
        #expect(try mayWrite(bob, "a"))
        let other = try #require(try alice.members().members.first { !$0.isThis }).identity
        for (role, may) in [("reader", false), ("writer", true)] {
            _ = try alice.ask(MemberRequest.setRole(vault: "Personal", member: other, role: role))
            do {
                let person = try OpenProfile(bob)
                // Unsent changes go to a vault that is not shared, and the status says so.
                let aside = try person.sync().first?.asideVault
                #expect((aside?.hasPrefix("Ours (not sent, ") ?? false) == !may)
            }
            #expect(try mayWrite(bob, role) == may)
        }
        _ = try alice.ask(MemberRequest.remove(vault: "Personal", member: other))
        do { _ = try OpenProfile(bob).error(SyncRequest(vault: "Ours")) }
        #expect(try !mayWrite(bob, "b"))
        do {
            let person = try OpenProfile(bob)
            let aside = try #require(
                person.vaults.vaults.first { $0.name.hasPrefix("Ours (not sent, ") && $0.name.hasSuffix(")") }
            )
            _ = try aside.vault.lookup(Array("a".utf8), in: Vault.rootNumber)
            try person.make("mine", in: aside.name)
            #expect(person.profile.share(of: aside.vault.id) == nil)
        }
        // A vault that no longer syncs belongs to this device alone.
        do { _ = try OpenProfile(bob).ask(RemoteRequest.remove(vault: "Ours", contents: .lose)) }
        #expect(try mayWrite(bob, "c"))
        #expect(try OpenProfile(bob).profile.use(of: alice.vault("Personal").id).isUsual)
    }
}

extension OpenProfile {
    func make(_ name: String, in vault: String) throws(FileSystemError) {
        guard let vault = vaults.vault(named: Array(vault.utf8))?.vault else { throw .notFound }
        _ = try vault.create(
            Vault.NewItem(mode: 0o100644), named: Array(name.utf8), in: Vault.rootNumber, by: .current)
    }
}
