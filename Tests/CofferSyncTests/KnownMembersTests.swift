import CofferFormat
import CofferRemote
import RemoteConformance
import SyncTestSupport
import Testing

import CofferSync

/// The names of the members are available while the engine is busy.
struct KnownMembersTests {
    /// A remote that answers no read while it is held.
    private actor HeldRemote: RemoteBackend {
        private let base: any RemoteBackend
        private var isHeld = false
        private var held: [CheckedContinuation<Void, Never>] = []
        private var watchers: [CheckedContinuation<Void, Never>] = []

        init(_ base: any RemoteBackend) { self.base = base }

        func hold() { isHeld = true }

        func release() {
            isHeld = false
            for waiter in held { waiter.resume() }
            held = []
        }

        /// Returns once a read waits.
        func waitUntilAsked() async {
            if held.isEmpty { await withCheckedContinuation { watchers.append($0) } }
        }

        private func pass() async {
            guard isHeld else { return }
            await withCheckedContinuation { continuation in
                held.append(continuation)
                for watcher in watchers { watcher.resume() }
                watchers = []
            }
        }

        nonisolated var limits: RemoteLimits { base.limits }
        nonisolated func describe() -> String { base.describe() }
        nonisolated func changes(below prefix: RemotePrefix) -> RemoteChanges { base.changes(below: prefix) }

        func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
            await pass()
            return try await base.get(name, range)
        }

        func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
            try await base.put(name, bytes, ifAbsent: ifAbsent)
        }

        func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
            await pass()
            return try await base.list(prefix, after: after)
        }

        func delete(_ name: RemoteName) async throws(RemoteError) { try await base.delete(name) }
    }

    /// A user that types a name does not wait for a remote.
    @Test(.timeLimit(.minutes(5))) func membersAreKnownDuringARound() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        try await will.writes("a", "1")
        try await will.sync()
        try await olga.sync()
        let remote = HeldRemote(world.remote)
        olga.restart(remote: remote)
        try await olga.sync()
        await remote.hold()
        let engine = olga.engine
        let round = Task { try await engine.round() }
        await remote.waitUntilAsked()
        #expect(await engine.otherMembers() == [will.person.id: "Will"])
        await remote.release()
        try await round.value
    }

    /// Before the engine has done anything, the names come from the saved state.
    @Test func membersAreKnownBeforeARound() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        olga.restart()
        #expect(await Array(olga.engine.otherMembers().keys) == [will.person.id])
    }
}
