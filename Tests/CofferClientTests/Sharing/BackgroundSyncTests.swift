import CofferFormat
import CofferSystem
import CofferVault
import Foundation
import Testing

import CofferClient

/// Sync while a profile is mounted.
@Suite(.serialized, .ownThread) struct BackgroundSyncTests {
    private let place: MeetingPlace

    init() throws { place = try MeetingPlace() }

    /// The content of a large file may arrive later than its commit; a reader needs nothing else then.
    @Test func lateContent() throws {
        let (alice, bob) = try place.pair("reader")
        try alice.write("", to: "late", in: "Personal")
        let vault = try alice.vault("Personal")
        let number = try vault.lookup(Array("late".utf8), in: Vault.rootNumber).number
        for index in 0..<20 {
            let bytes = [UInt8](repeating: UInt8(65 + index), count: 10)
            try vault.contents.write(
                bytes.span.bytes, to: number, at: Int64(index) * 5000, touches: true, dropsPrivileges: false)
        }
        _ = try alice.sync()
        let vaults = "\(place.folder.path)/vaults"
        let id = try #require(try FileManager.default.contentsOfDirectory(atPath: vaults).first)
        let (packs, away) = ("\(vaults)/\(id)/packs", "\(place.folder.path)/away")
        try FileManager.default.moveItem(atPath: packs, toPath: away)
        try FileManager.default.createDirectory(atPath: packs, withIntermediateDirectories: false)
        bob.startSyncing()
        #expect(try waitUntil { try bob.has("late", in: "Ours") })
        #expect(throws: FileSystemError.self) { try bob.read("late", in: "Ours") }
        #expect(bob.problems.contains { $0.text.contains("has not arrived") })
        try FileManager.default.removeItem(atPath: packs)
        try FileManager.default.moveItem(atPath: away, toPath: packs)
        #expect(waitUntil { bob.problems.isEmpty })
        let expected = try alice.read("late", in: "Personal")
        #expect(try bob.read("late", in: "Ours") == expected)
    }

    /// Background sync, and its end while a user waits for admission.
    @Test func background() throws {
        let (alice, bob) = try place.pair()
        for person in [alice, bob] { person.startSyncing() }
        try alice.write("x", to: "live", in: "Personal")
        #expect(try waitUntil { try bob.has("live", in: "Ours") })
        alice.stopSyncing()
        let carol = try OpenProfile()
        let handler = carol.handler
        let request = JoinRequest(invite: try alice.invite(), name: nil, waits: true)
        let result = Condition<ClientError?>(nil)
        let waiting = Condition(false)
        Thread.detachNewThread {
            do throws(ClientError) {
                _ = try handler.respond(to: request) { _ in waiting.update { $0 = true } }
            } catch {
                result.update { $0 = error }
            }
        }
        _ = waiting.wait { $0 ? true : nil }
        carol.stopSyncing()
        #expect(result.wait { $0 }.caseName == "joinInterrupted")
        #expect(carol.joinCount == 1)
    }
}
