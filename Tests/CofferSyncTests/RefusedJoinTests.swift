import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

import CofferSync

/// A user that asks in vain is told so, if the inviter's device knows the reason.
struct RefusedJoinTests {
    @Test func aWithdrawnInvite() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let ada = try await world.joins("Ada", .admin, by: olga)
        let invite = try await world.invite(olga, .writer)
        let person = try world.person("Will")
        let joining = try world.joining(invite, person)
        try await joining.join()
        try await olga.engine.withdraw(invite.id)
        guard case .waiting = try await joining.poll() else { throw Missing() }
        try await olga.sync()
        await #expect(throws: JoinError.refused(.withdrawn)) { try await joining.poll() }
        #expect(await olga.members.count == 2)
        // No device reports it as a problem.
        for device in [olga, ada] {
            device.restart()
            try await device.sync()
            #expect(await device.findings().isEmpty)
        }
        // Another invite works, although the answer to the first one is still there.
        let other = try world.joining(try await world.invite(ada, .reader), person)
        guard case .unasked = try await other.poll() else { throw Missing() }
        try await other.join()
        try await ada.sync()
        guard case .admitted(let joined) = try await other.poll() else { throw Missing() }
        #expect(joined.role == .reader && world.requestCount == 0)
    }

    @Test func inviterWithoutTheRight() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let ada = try await world.joins("Ada", .admin, by: olga)
        let joining = try world.joining(try await world.invite(ada, .writer), try world.person("Late"))
        try await joining.join()
        try await olga.engine.setRole(of: ada.person.id, to: .writer)
        try await ada.sync()
        await #expect(throws: JoinError.refused(.noRight)) { try await joining.poll() }
        #expect(await ada.members.count == 2)
    }

    @Test func aRequestIsWithdrawn() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let joining = try world.joining(try await world.invite(olga, .writer), try world.person("Will"))
        try await joining.withdraw()
        try await joining.join()
        try await joining.withdraw()
        #expect(world.requestCount == 0)
        try await olga.sync()
        guard case .unasked = try await joining.poll() else { throw Missing() }
        #expect(await olga.members.count == 1)
    }

    /// An attacker keeps putting malformed requests that sort before a valid one.
    @Test func malformedRequestsHideNoOthers() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let joining = try world.joining(try await world.invite(olga, .writer), try world.person("Will"))
        try await joining.join()
        for round in 1...6 {
            for number in 0..<200 as Range<UInt8> {
                let name = SyncWorld.request(UInt64(number), in: world.layout)
                // Every third is longer than a request may be.
                let byteCount = number % 3 == 0 ? JoinRequestRecord.byteCountMax + round : round
                let bytes = [UInt8](repeating: number, count: byteCount)
                try await world.remote.put(name, .memory(bytes), ifAbsent: false)
            }
            try await olga.sync()
        }
        guard case .admitted = try await joining.poll() else { throw Missing() }
    }
}
