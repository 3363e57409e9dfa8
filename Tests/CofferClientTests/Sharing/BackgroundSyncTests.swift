import CofferSystem
import Foundation
import Testing

@testable import CofferClient

/// Sync while a profile is mounted.
@Suite(.serialized, .ownThread) struct BackgroundSyncTests {
    private let place: MeetingPlace

    init() throws { place = try MeetingPlace() }

    /// Sync in the background, and its end while somebody waits to be admitted.
    @Test func background() throws {
        let (alice, bob) = try place.pair()
        for person in [alice, bob] { person.shared.start() }
        try alice.write("x", to: "live", in: "Personal")
        #expect(try waitUntil { try bob.has("live", in: "Ours") })
        alice.shared.stop()
        let carol = try OpenProfile()
        let handler = carol.handler
        let request = ControlRequest.join(invite: try alice.invite(), name: nil, waits: true)
        let result = Condition<ProfileError?>(nil)
        let waiting = Condition(false)
        Thread.detachNewThread {
            do throws(ProfileError) {
                _ = try handler.answer(request) { _ in waiting.update { $0 = true } }
            } catch {
                result.update { $0 = error }
            }
        }
        _ = waiting.wait { $0 ? true : nil }
        carol.shared.stop()
        #expect(result.wait { $0 }.caseName == "joinInterrupted")
        #expect(carol.profile.joins.count == 1)
    }
}
