import CofferFormat
import CofferSystem
import CofferTrust
import Foundation
import Testing

@testable import CofferClient

/// The answers of `coffer sync`, `coffer check` and `coffer identity roll`.
@Suite(.serialized, .ownThread) struct SyncAnswerTests {
    private let place: MeetingPlace

    init() throws { place = try MeetingPlace() }

    /// Progress counts this sync, not everything since the mount began.
    @Test func progressBeginsAtNothing() throws {
        let (alice, _) = try place.pair()
        for number in 0..<5 {
            try alice.write("x", to: "\(number)", in: "Personal")
            let steps = Condition<[CofferClient.Progress]>([])
            _ = try alice.handler.answer(SyncRequest(vault: "Personal")) { step in
                steps.update { $0.append(step) }
            }
            #expect(steps.withLock { $0 }.allSatisfy { $0.done <= 2 && $0.done <= $0.total })
        }
    }

    /// A sync of all vaults that the end of the mount interrupts does not look complete.
    @Test func anInterruptedSync() throws {
        let (alice, _) = try place.pair()
        try FileManager.default.removeItem(atPath: place.folder.path)
        #expect(try alice.sync().first?.failure != nil)
        alice.shared.stop()
        #expect(alice.error(SyncRequest(vault: nil))?.caseName == "notSynced")
    }

    /// If a remote cannot be opened, the answer does not say that everything is synced.
    @Test func anUnopenableVault() throws {
        let test = try TestProfile()
        do {
            let alice = try OpenProfile(test)
            _ = try alice.ask(RemoteRequest.add(vault: "Personal", url: place.url))
            var share = try #require(alice.profile.shares.first)
            share.url = "s3://nowhere/bucket"
            try alice.profile.setShare(share)
        }
        let reports = try OpenProfile(test).sync()
        #expect(reports.map(\.vault) == ["Personal"] && reports.first?.failure != nil)
        #expect(reports.exitCode == 74)
    }

    private func check(_ person: OpenProfile, _ vault: String) throws -> VaultCheck {
        let report = try person.ask(CheckRequest(vault: vault))
        return try #require(report.vaults.first)
    }

    /// A check compares the tree with the commits if these are complete.
    @Test func aCheckCompares() throws {
        let (alice, bob) = try place.pair()
        try alice.write("x", to: "a", in: "Personal")
        let before = try check(alice, "Personal")
        #expect(before.isCompared == false && before.damage.isEmpty)
        for person in [alice, bob] { _ = try person.sync() }
        for (person, vault) in [(alice, "Personal"), (bob, "Ours")] {
            let after = try check(person, vault)
            #expect(after.isCompared == true && after.damage.isEmpty, "\(after.damage.map(\.text))")
        }
        #expect(try check(bob, "Personal").isCompared == nil)
    }

    @Test func aNewTransientKey() throws {
        let (alice, bob) = try place.pair()
        let carol = try OpenProfile()
        _ = try carol.ask(JoinRequest(invite: try alice.invite(), name: "Theirs", waits: false))
        for person in [alice, carol, bob] { _ = try person.sync() }
        let old = try bob.profile.publicIdentity()
        let report = try bob.ask(IdentityRequest.roll)
        let new = try bob.profile.publicIdentity()
        #expect(new.id == old.id && report.identity == old.id.description)
        #expect(new.transients.map(\.key) == old.transients.map(\.key) + [new.transient.key])
        #expect(new.transient.key != old.transient.key)
        for person in [bob, alice] { _ = try person.sync() }
        // The next key is wrapped for the new one.
        let other = try carol.profile.publicIdentity().id.description
        _ = try alice.ask(MemberRequest.remove(vault: "Personal", member: other))
        try alice.write("x", to: "after", in: "Personal")
        for person in [alice, bob] { _ = try person.sync() }
        #expect(try bob.has("after", in: "Ours"))
        #expect(bob.profile.vaults.last?.keys.count == 2)
        // It does not repeat endlessly.
        for _ in 0..<40 { if bob.error(IdentityRequest.roll)?.caseName == "trust" { return } }
        Issue.record("no bound")
    }
}
