import CofferFormat
import CofferSystem
import CofferTrust
import Foundation
import Testing

@testable import CofferClient

/// What `coffer sync`, `coffer check` and `coffer identity roll` answer.
@Suite(.serialized, .ownThread) struct SyncAnswerTests {
    private let place: MeetingPlace

    init() throws { place = try MeetingPlace() }

    private func check(_ person: OpenProfile, _ vault: String) throws -> VaultCheck {
        guard case .check(let report) = try person.ask(.check(vault: vault)) else {
            throw ProfileError.otherAnswer
        }
        return try #require(report.vaults.first)
    }

    /// A check compares the tree with the commits, where these say all.
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
}
