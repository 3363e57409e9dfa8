import CofferSystem
import Foundation
import Testing

import CofferClient

/// A remote shows less than before to a user who never mounts: `coffer sync` reports it.
@Suite(.serialized, .ownThread) struct DoubtTests {
    private let place: MeetingPlace

    init() throws { place = try MeetingPlace() }

    /// An earlier state of the folder, as from a backup.
    private func rollBack(_ body: () throws -> Void) throws {
        let kept = try TemporaryDirectory()
        let copy = "\(kept.path)/copy"
        try FileManager.default.copyItem(atPath: place.folder.path, toPath: copy)
        try body()
        try FileManager.default.removeItem(atPath: place.folder.path)
        try FileManager.default.copyItem(atPath: copy, toPath: place.folder.path)
    }

    @Test func ownCommitsAreGone() throws {
        let (alice, bob) = try place.pair()
        let test = bob.test
        for person in [alice, bob] { _ = try person.sync() }
        try rollBack {
            try bob.write("x", to: "lost", in: "Ours")
            #expect(try bob.sync("Ours").first?.unsentItems == 0)
        }
        let report = try #require(try bob.sync("Ours").first)
        // The device puts back a few commits by itself, and says so.
        #expect(report.failure == nil && !report.repairs.isEmpty, "\(report)")
        #expect(Set(report.repairs).isSubset(of: report.findings))
        _ = test
    }

    @Test func allIsWell() throws {
        let (alice, bob) = try place.pair()
        for person in [alice, bob, alice] {
            #expect(try person.sync().allSatisfy { $0.doubts.isEmpty && $0.failure == nil })
        }
    }
}
