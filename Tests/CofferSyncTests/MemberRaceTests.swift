import CofferCrypto
import CofferFormat
import CofferRemote
import CofferTestSupport
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

@testable import CofferSync

/// Several members change the members at once, crash between any two steps, or use storages that keep two
/// histories.
struct MemberRaceTests {
    private struct Team {
        let world = MembershipWorld()
        let olga: Device
        let ada: Device
        let will: Device
        let mallory: Device

        init(_ second: Role = .admin) async throws {
            olga = try await world.founded()
            try await olga.writes("hello", "1")
            ada = try await world.joins("Ada", second, by: olga)
            will = try await world.joins("Will", .writer, by: olga)
            mallory = try await world.joins("Mallory", .writer, by: olga)
            for device in [olga, ada, will, mallory] { try await device.sync() }
        }

        var all: [Device] { [olga, ada, will, mallory] }

        /// Checks that nothing is left over, and that all members know the same.
        func settles(_ message: Comment) async throws {
            for _ in 0..<2 { for device in all { try? await device.sync() } }
            let members = await olga.members
            for device in all where members[device.person.id] != nil {
                device.restart(remote: world.remote)
                try await device.sync()
                try await device.sync()
                #expect(await device.members == members, message)
                #expect(await device.stateHash() == olga.stateHash(), message)
                let findings = await device.findings()
                #expect(findings.isEmpty, "\(message): \(findings)")
                #expect(await device.engine.duties.pending == nil, message)
            }
        }
    }

    @Test func twoRemoveTheSameOne() async throws {
        let team = try await Team()
        let id = team.mallory.person.id
        let pauses = PausingRemote(base: team.world.remote)
        team.ada.restart(remote: pauses)
        try await team.ada.sync()
        // Ada has read all links, and is just about to put hers, when Olga is faster.
        let olga = team.olga.engine
        await pauses.before(team.world.layout.member(4)) { try? await olga.remove(id) }
        try await team.ada.engine.remove(id)
        #expect(await team.olga.epoch == 2)
        #expect(team.world.wrapCount(2) == 1)
        #expect(team.world.linkCount == 5)
        try await team.settles("same")
    }

    @Test func twoRemoveOthersAndOneAdds() async throws {
        let team = try await Team()
        let pauses = PausingRemote(base: team.world.remote)
        team.ada.restart(remote: pauses)
        let carl = try team.world.person("Carl")
        let (olga, mallory, card) = (team.olga.engine, team.mallory.person.id, try carl.card)
        await pauses.before(team.world.layout.member(4)) {
            try? await olga.remove(mallory)
            try? await olga.add(card, role: .writer)
        }
        try await team.ada.engine.remove(team.will.person.id)
        #expect(await team.ada.epoch == 3)
        #expect(await Set(team.ada.members.keys) == [team.olga.person.id, team.ada.person.id, carl.id])
        try await team.settles("others")
        // A member added between the two epochs also has the key of the second one.
        let device = try team.world.device(carl)
        try await device.sync()
        #expect(await device.epoch == 3)
        #expect(await device.stateHash() == team.olga.stateHash())
    }

    @Test func twoWhoRemoveEachOther() async throws {
        let team = try await Team(.owner)
        let pauses = PausingRemote(base: team.world.remote)
        team.ada.restart(remote: pauses)
        let (olga, ada) = (team.olga.engine, team.ada.person.id)
        await pauses.before(team.world.layout.member(4)) { try? await olga.remove(ada) }
        // The slower one no longer has the right.
        await #expect(throws: SyncError.membership(.removed(by: "Olga", link: 4))) {
            try await team.ada.engine.remove(team.olga.person.id)
        }
        #expect(team.world.linkCount == 5)
        await #expect(throws: SyncError.membership(.removed(by: "Olga", link: 4))) {
            try await team.ada.sync()
        }
        #expect(await team.olga.members[team.ada.person.id] == nil)
        try await team.settles("each other")
    }

    @Test func twoHistoriesOfTheMembersAreReported() async throws {
        let team = try await Team(.owner)
        let name = team.world.layout.member(4)
        // Each of them has a copy of the storage, with one of the two links.
        try await team.olga.engine.remove(team.ada.person.id)
        let first = try #require(team.world.remote.objects[name])
        try await team.world.remote.delete(name)
        try await team.ada.engine.remove(team.olga.person.id)
        let second = try #require(team.world.remote.objects[name])
        #expect(first != second)
        team.olga.restart()
        try await team.olga.sync()
        let forks = try await team.olga.engine.roster(verified: []).forks
        #expect(forks.map(\.known.bytes) == [first] && forks.map(\.other.bytes) == [second])
        #expect(
            await team.olga.memberFindings().contains {
                if case .fork(_, .otherIsByRemoved) = $0 { true } else { false }
            })
        #expect(await team.olga.members[team.olga.person.id] == .owner)
        // Will has seen the other history first, in which Olga is no longer a member; the user decides.
        try await team.will.sync()
        #expect(await team.will.members[team.olga.person.id] == nil)
        try await team.world.remote.put(name, .memory(first), ifAbsent: false)
        team.will.restart()
        try await team.will.sync()
        #expect(try await team.will.engine.roster(verified: []).forks.count == 1)
        try await team.will.engine.resolveFork(at: 4, adopting: true)
        #expect(await team.will.members[team.olga.person.id] == .owner)
        #expect(await team.will.members[team.ada.person.id] == nil)
        team.olga.restart()
        for device in [team.olga, team.will, team.olga, team.will] { try await device.sync() }
        #expect(await team.will.stateHash() == team.olga.stateHash())
        #expect(await (team.olga.memberFindings() + team.will.memberFindings()).isEmpty)
    }

    @Test func aRemovalStandsAgainstTheRemoved() async throws {
        let team = try await Team(.admin)
        let name = team.world.layout.member(4)
        // Ada adds Eve; Olga, who has not seen that, removes Ada.
        try await team.ada.engine.add(try team.world.person("Eve").card, role: .writer)
        try await team.will.sync()
        try await team.world.remote.delete(name)
        try await team.olga.engine.remove(team.ada.person.id)
        team.will.restart()
        try await team.will.sync()
        #expect(await team.will.members == team.olga.members)
        #expect(await team.will.epoch == 2)
        try await team.will.writes("a", "1")
        for device in [team.will, team.olga, team.will] { try await device.sync() }
        #expect(await team.olga.files() == ["hello": "1", "a": "1"])
        #expect(await team.will.memberFindings().isEmpty)
    }

    /// Ada changes the key, Olga removes her, and neither sees the other's link.
    ///
    /// Will and Mallory have written under Ada's key, and switch to Olga's side: their changes there are
    /// committed again, and reach everybody.
    @Test func bothSidesBeganAnEpoch() async throws {
        var strikes = 0
        // One run without a crash, and many with one, each a few steps later.
        for steps in [10_000] + Array(stride(from: 0, to: 800, by: 5)) {
            let team = try await Team(.admin)
            let name = team.world.layout.member(4)
            try await team.ada.engine.rotate()
            try await team.will.sync()
            try await team.will.writes("lost", "1")
            try await team.will.writes("hello", "2")
            for device in [team.will, team.mallory, team.will] { try await device.sync() }
            try await team.mallory.writes("lost", "3")
            try await team.mallory.writes("hers", "4")
            for device in [team.mallory, team.will] { try await device.sync() }
            let lost = try #require(await team.will.engine.keyring?.current)
            #expect(await team.will.files() == ["hello": "2", "lost": "3", "hers": "4"])
            try await team.world.remote.delete(name)
            try await team.olga.engine.remove(team.ada.person.id)
            try await team.will.writes("unsent", "5")
            // After a crash at any step, the next process continues.
            let point = CrashPoint(after: steps)
            await team.will.replica.crashes(at: point)
            team.will.restart(remote: CrashingRemote(base: team.world.remote, point: point))
            try? await team.will.sync()
            await team.will.replica.crashes(at: nil)
            team.will.restart(remote: team.world.remote)
            team.mallory.restart()
            for device in [team.will, team.mallory, team.olga, team.will] { try await device.sync() }
            let keyring = try #require(await team.will.engine.keyring)
            #expect(!keyring.current.isEqual(to: lost) && keyring.lost.contains { $0.isEqual(to: lost) })
            #expect(await team.will.replica.sealedAnew.isEmpty == false)
            try await team.will.writes("a", "6")
            for _ in 0..<2 { for device in [team.will, team.olga, team.mallory] { try await device.sync() } }
            let files = await team.olga.files()
            #expect(files["a"] == "6" && files["unsent"] == "5" && files["hers"] == "4", "\(steps): \(files)")
            #expect(files["hello"] == "2" && files["lost"] == "3", "\(steps): \(files)")
            for device in [team.will, team.mallory] {
                #expect(await device.stateHash() == team.olga.stateHash(), "\(steps)")
                let findings = await device.findings()
                #expect(findings.isEmpty, "\(steps): \(findings)")
            }
            #expect(await team.olga.findings().isEmpty, "\(steps)")
            guard point.hasStruck || steps == 10_000 else { break }
            strikes += point.hasStruck ? 1 : 0
        }
        #expect(strikes > 15 && strikes < 160)
    }

    // MARK: Crashes

    /// Repeats an operation, with a crash one step later each time, until it completes.
    private func crashing(
        _ device: Device, _ world: MembershipWorld, _ body: (SyncEngine) async throws -> Void
    ) async throws -> Int {
        for steps in 0..<400 {
            let point = CrashPoint(after: steps)
            await device.replica.crashes(at: point)
            device.restart(remote: CrashingRemote(base: world.remote, point: point))
            try? await body(device.engine)
            await device.replica.crashes(at: nil)
            device.restart(remote: world.remote)
            if !point.hasStruck { return steps }
        }
        throw Missing()
    }

    @Test func sharingSurvivesCrashes() async throws {
        let world = MembershipWorld()
        let olga = try world.device(try world.person("Olga"))
        let steps = try await crashing(olga, world) { try await $0.share(world.key) }
        #expect(steps > 10)
        try await olga.sync()
        #expect(await olga.members.count == 1)
        #expect(await olga.findings().isEmpty)
        #expect(world.wrapCount(1) == 1)
    }

    @Test func aRemovalSurvivesCrashes() async throws {
        // Each run starts afresh, with a crash one step later.
        var strikes = 0
        for steps in 0..<200 {
            let world = MembershipWorld()
            let olga = try await world.founded()
            let will = try await world.joins("Will", .writer, by: olga)
            let mallory = try await world.joins("Mallory", .writer, by: olga)
            try await mallory.writes("hers", "1")
            try await mallory.sync()
            let point = CrashPoint(after: steps)
            await olga.replica.crashes(at: point)
            olga.restart(remote: CrashingRemote(base: world.remote, point: point))
            try? await olga.engine.remove(mallory.person.id)
            await olga.replica.crashes(at: nil)
            olga.restart(remote: world.remote)
            let isSaved = try await olga.replica.rows().contains { $0.key.kind == .pendingLink }
            // Another device changes the members in the meantime.
            let other = try world.person("Carl")
            if steps % 2 == 1 {
                let second = try world.device(olga.person, "tower")
                try await second.engine.add(try other.card, role: .reader)
            }
            try await olga.sync()
            let isBegun = await olga.members[mallory.person.id] == nil
            // A removal that was begun is completed, whichever device was faster.
            #expect(isBegun || !isSaved, "\(steps)")
            if !isBegun { try await olga.engine.remove(mallory.person.id) }
            for device in [olga, will, olga, will] { try await device.sync() }
            olga.restart()
            try await olga.sync()
            try await olga.sync()
            #expect(await olga.epoch == 2, "\(steps)")
            // No set of wraps is left without a link.
            #expect(await olga.engine.chain.state.grants.count == world.wrapCount(2), "\(steps)")
            #expect(await will.files() == ["hers": "1"], "\(steps)")
            #expect(await (olga.findings() + will.findings()).isEmpty, "\(steps)")
            await #expect(throws: SyncError.self) { try await mallory.sync() }
            guard point.hasStruck else { break }
            strikes += 1
        }
        #expect(strikes > 15 && strikes < 200)
    }

    /// A removal is interrupted, and the removed member continues to write: what is applied once it completes
    /// counts.
    @Test func aResumedRemovalBoundsLaterCommits() async throws {
        var changes = 0
        for steps in 0..<200 {
            let world = MembershipWorld()
            let olga = try await world.founded()
            let will = try await world.joins("Will", .writer, by: olga)
            let mallory = try await world.joins("Mallory", .writer, by: olga)
            let point = CrashPoint(after: steps)
            await olga.replica.crashes(at: point)
            olga.restart(remote: CrashingRemote(base: world.remote, point: point))
            try? await olga.engine.remove(mallory.person.id)
            await olga.replica.crashes(at: nil)
            olga.restart(remote: world.remote)
            let isSaved = try await olga.replica.rows().contains { $0.key.kind == .pendingLink }
            let isThere = world.linkCount > 3
            if isSaved, !isThere {
                try await mallory.writes("since", "1")
                for device in [mallory, will] { try await device.sync() }
            }
            for device in [olga, will, olga, will] { try await device.sync() }
            if isSaved, !isThere {
                changes += 1
                #expect(await olga.members[mallory.person.id] == nil, "\(steps)")
                #expect(await will.files() == ["since": "1"], "\(steps)")
                #expect(await olga.files() == ["since": "1"], "\(steps)")
                #expect(await will.epoch == 2, "\(steps)")
                #expect(world.wrapCount(2) == 1, "\(steps)")
                #expect(await (olga.findings() + will.findings()).isEmpty, "\(steps)")
            }
            guard point.hasStruck else { break }
        }
        #expect(changes > 2)
    }

    @Test func askingSurvivesCrashes() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let invite = try await world.invite(olga, .writer)
        let person = try world.person("Will")
        var strikes = 0
        while true {
            let point = CrashPoint(after: strikes)
            let remote = CrashingRemote(base: world.remote, point: point)
            try? await world.joining(invite, person, remote: remote).join()
            guard point.hasStruck else { break }
            strikes += 1
        }
        #expect(strikes > 8)
        #expect(world.requestCount == 1)
        try await olga.sync()
        guard case .admitted = try await world.joining(invite, person).poll() else { throw Missing() }
    }

    @Test func admissionSurvivesCrashes() async throws {
        var strikes = 0
        for steps in 0..<200 {
            let world = MembershipWorld()
            let olga = try await world.founded()
            let person = try world.person("Will")
            let joining = try world.joining(try await world.invite(olga, .writer), person)
            try await joining.join()
            let point = CrashPoint(after: steps)
            await olga.replica.crashes(at: point)
            olga.restart(remote: CrashingRemote(base: world.remote, point: point))
            try? await olga.sync()
            await olga.replica.crashes(at: nil)
            olga.restart(remote: world.remote)
            try await olga.sync()
            try await olga.sync()
            guard case .admitted(let joined) = try await joining.poll() else { throw Missing() }
            #expect(joined.chain.nextSequence == 2, "\(steps)")
            #expect(world.requestCount == 0, "\(steps)")
            #expect(try await olga.setup.invites?.load().all.isEmpty == true, "\(steps)")
            #expect(await olga.findings().isEmpty, "\(steps)")
            guard point.hasStruck else { break }
            strikes += 1
        }
        #expect(strikes > 15 && strikes < 200)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func concurrentChangesOverAFaultyRemote(seed: UInt64) async throws {
        let team = try await Team()
        var random = SplitMix64(seed: seed)
        let faulty = [team.olga, team.ada].map { device in
            let remote = FaultyRemote(team.world.remote, .all, seed: random.next())
            device.restart(remote: RetryingRemote(remote, clock: InstantClock(hasPolls: false)))
            return device
        }
        let people = try (0..<6).map { try team.world.person("P\($0)") }
        for person in people {
            let device = faulty[random.below(2)]
            guard let invite = try? await team.world.invite(device, .writer) else { continue }
            try await team.world.joining(invite, person).join()
        }
        for step in 0..<12 {
            let device = faulty[random.below(2)]
            let (first, second) = (device.engine, faulty[random.below(2)].engine)
            let victim = people[random.below(people.count)].id
            let isRemoval = random.oneIn(3)
            async let one: Void? = try? first.round()
            async let two: Void? = isRemoval ? try? second.remove(victim) : try? second.rotate()
            _ = await (one, two)
            if random.oneIn(4) { device.restart() }
            try await team.will.writes("w", "\(step)")
            try? await team.will.sync()
        }
        for device in faulty { device.restart(remote: team.world.remote) }
        try await team.settles("seed \(seed)")
        #expect(team.world.requestCount == 0, "seed \(seed)")
        let epoch = try await team.olga.epoch.orThrow()
        #expect(epoch > 1, "seed \(seed): nothing was tested")
        for number in 1...UInt64(epoch) where number > 1 {
            #expect(team.world.wrapCount(number) >= 1, "seed \(seed)")
        }
    }
}

/// A remote that runs an action just before an object is put.
private actor PausingRemote: RemoteBackend {
    private let base: any RemoteBackend
    private var pauses: [RemoteName: @Sendable () async -> Void] = [:]

    init(base: any RemoteBackend) { self.base = base }

    func before(_ name: RemoteName, _ body: @escaping @Sendable () async -> Void) { pauses[name] = body }

    nonisolated var limits: RemoteLimits { base.limits }
    nonisolated func describe() -> String { base.describe() }
    nonisolated func changes(below prefix: RemotePrefix) -> RemoteChanges { base.changes(below: prefix) }

    func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        try await base.get(name, range)
    }

    func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        if let pause = pauses.removeValue(forKey: name) { await pause() }
        try await base.put(name, bytes, ifAbsent: ifAbsent)
    }

    func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        try await base.list(prefix, after: after)
    }

    func delete(_ name: RemoteName) async throws(RemoteError) { try await base.delete(name) }
}
