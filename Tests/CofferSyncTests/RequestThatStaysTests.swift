import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Synchronization
import Testing

@testable import CofferSync

/// Requests that are answered and stay, as in a folder with the sticky bit: a user cannot remove or replace what another
/// one has put.
@Suite struct RequestThatStaysTests {
    private let world = MembershipWorld()

    private func stays(_ device: Device) async -> Bool {
        await device.findings().contains {
            if case .membership(.requestStays(_, let reason)) = $0 { reason == Keeping.reason } else { false }
        }
    }

    /// The person who asks is admitted, and what stays is named until it is gone.
    @Test func theUserIsAdmitted() async throws {
        let olga = try await world.founded()
        let will = try world.person("Will")
        let joining = try world.joining(try await world.invite(olga, .writer), will)
        try await joining.join()
        olga.restart(remote: Keeping(world.remote, world.layout))
        try await olga.sync()
        guard case .admitted = try await joining.poll() else {
            Issue.record("not admitted")
            return
        }
        #expect(world.requestCount == 1)
        // A later look at all requests finds it again.
        olga.restart()
        try await olga.sync()
        #expect(await stays(olga))
        // Sync goes on.
        try await olga.writes("file", "text")
        try await olga.sync()
        // The user's own device may remove it.
        try await joining.withdraw()
        olga.restart()
        try await olga.sync()
        #expect(await !stays(olga))
    }

    /// An answer that cannot be put is no failure either.
    @Test func aRefusalThatCannotBePut() async throws {
        let olga = try await world.founded()
        let invite = try await world.invite(olga, .writer)
        let joining = try world.joining(invite, try world.person("Will"))
        try await joining.join()
        try await olga.engine.withdraw(invite.id)
        olga.restart(remote: Keeping(world.remote, world.layout))
        try await olga.sync()
        #expect(await stays(olga))
        guard case .waiting = try await joining.poll() else {
            Issue.record("the request was answered")
            return
        }
    }

    /// The remote fails between the admission and the deletion of the request, and the member is removed before it works.
    @Test(arguments: [false, true]) func theRequestOfARemovedMemberGoes(isReplaced: Bool) async throws {
        let olga = try await world.founded()
        let will = try world.person("Will")
        try await world.joining(try await world.invite(olga, .writer), will).join()
        let requests = world.remote.objects.filter { world.layout.requests.contains($0.key) }
        try #require(requests.count == 1)
        try await olga.sync()
        #expect(await olga.members[will.id] != nil && world.requestCount == 0)
        try await olga.engine.remove(will.id)
        for (name, bytes) in requests {
            // Somebody else who uses the invite is named.
            let other = world.layout.request(JoinRequestName.of(try world.person("Mallory").id))
            try await world.remote.put(isReplaced ? other : name, .memory(bytes), ifAbsent: true)
        }
        olga.restart()
        for _ in 0..<2 { try await olga.sync() }
        #expect(world.requestCount == (isReplaced ? 1 : 0))
        #expect(await olga.findings().count == (isReplaced ? 1 : 0))
    }
}

/// A remote that keeps requests to join.
private struct Keeping: ForwardingRemote {
    static let reason = "olga may not remove it"

    let base: any RemoteBackend
    private let layout: RemoteLayout

    init(_ base: any RemoteBackend, _ layout: RemoteLayout) {
        (self.base, self.layout) = (base, layout)
    }

    func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        if layout.requests.contains(name) { throw .refused(Self.reason) }
        try await base.put(name, bytes, ifAbsent: ifAbsent)
    }
    func delete(_ name: RemoteName) async throws(RemoteError) {
        if layout.requests.contains(name) { throw .refused(Self.reason) }
        try await base.delete(name)
    }
}
