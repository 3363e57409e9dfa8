import CofferFormat
import CofferRemote
import CofferSync
import CofferSystem
import CofferTestSupport
import RemoteConformance
import Synchronization
import Testing

import CofferVault

/// Several devices whose connections are in all kinds of trouble: once that is over, all have the same, nothing is
/// lost, and nothing is stuck, although no device was started again.
@Suite struct UnsteadyStoryTests {
    /// A device, and what is wrong with its connection.
    private struct Station {
        let device: ReplicaDevice
        let faulty: FaultyRemote
        let unsteady: UnsteadyRemote

        func endTrouble() {
            faulty.become(RemoteFaults())
            unsteady.end()
        }
    }

    private static func stations(
        _ world: ReplicaWorld, over remote: MemoryRemote, _ random: inout SplitMix64, clock: any RemoteClock
    ) throws -> [Station] {
        try (0..<3).map { person in
            let faulty = FaultyRemote(remote, RemoteFaults(), seed: random.next())
            let unsteady = UnsteadyRemote(faulty, seed: random.next(), clock: clock)
            var policy = RetryPolicy()
            policy.firstPause = .milliseconds(200)
            policy.pauseMax = .seconds(2)
            policy.deadline = .seconds(5)
            let drawn = Mutex(SplitMix64(seed: random.next()))
            let patient = RetryingRemote(
                unsteady, policy, clock: clock,
                random: { drawn.withLock { Double($0.below(1000)) / 1000 } })
            let device = try ReplicaDevice(person, in: world.at(patient), commitsPerCheckpoint: 20)
            return Station(device: device, faulty: faulty, unsteady: unsteady)
        }
    }

    /// Faults of single calls; a device's own objects stay visible to it.
    private static var faults: RemoteFaults {
        var faults = RemoteFaults.all
        (faults.failsBefore, faults.failsAfter, faults.repeats) = (20, 20, 20)
        return faults
    }

    @Test(arguments: Seeds.first(3))
    func devicesMeetWhenTroubleIsOver(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let (remote, clock) = (MemoryRemote(), SteppingClock())
        let world = try await ReplicaWorld.make(remote)
        let stations = try Self.stations(world, over: remote, &random, clock: clock)
        for station in stations { station.faulty.become(Self.faults) }
        var programs = stations.map { RandomProgram(seed: random.next(), on: $0.device) }
        var (promised, rounds, failures): ([String: String], Int, Int) = ([:], 0, 0)
        for step in 0..<90 {
            let number = random.below(stations.count)
            let device = stations[number].device
            switch random.below(8) {
            case 0, 1:
                let name = "new \(step)"
                try await onThread { try device.write("\(seed) \(name)", to: name) }
                promised[name] = "\(seed) \(name)"
            case 2...4:
                let isDone = (try? await device.round()) != nil
                (rounds, failures) = isDone ? (rounds + 1, failures) : (rounds, failures + 1)
            default:
                programs[number] = try await programs[number].acted()
            }
        }
        // Otherwise nothing was tested.
        #expect(failures > 0 && !promised.isEmpty, "seed \(seed): \(rounds) rounds, \(failures) failed")
        for station in stations { station.endTrouble() }
        try await ReplicaDevice.meet(stations.map(\.device))
        try await check(stations.map(\.device), world, promised, "seed \(seed)")
    }

    /// A clock whose time passes faster than the real one.
    private struct FastClock: RemoteClock {
        private static let factor = 200
        private let real = ContinuousRemoteClock()

        var now: Duration { real.now * Self.factor }

        func sleep(for duration: Duration) async throws(RemoteError) {
            try await real.sleep(for: duration / Self.factor)
        }
    }

    struct Stuck: Error {}

    /// The same with engines that run by themselves: it is they that try again.
    @Test(arguments: Seeds.first(2))
    func enginesTryAgainByThemselves(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed &+ 1_000_000)
        let (remote, clock) = (MemoryRemote(), FastClock())
        let world = try await ReplicaWorld.make(remote)
        let stations = try Self.stations(world, over: remote, &random, clock: clock)
        for station in stations { station.faulty.become(Self.faults) }
        let engines = stations.map { station in Task { await station.device.engine.run(clock: clock) } }
        defer { for engine in engines { engine.cancel() } }
        var promised: [String: String] = [:]
        for step in 0..<60 {
            let device = stations[random.below(stations.count)].device
            let name = "new \(step)"
            try await onThread { try device.write("\(seed) \(name)", to: name) }
            promised[name] = "\(seed) \(name)"
            device.engine.localChange()
            if random.oneIn(3) { try await clock.sleep(for: .seconds(random.below(20))) }
        }
        for station in stations { station.endTrouble() }
        let (devices, names) = (stations.map(\.device), Set(promised.keys))
        try await waitUntil("seed \(seed)") {
            for device in devices {
                guard try await onThread({ names.isSubset(of: try device.names(in: "")) }),
                    try device.vault.outgoing.unsentCount() == 0
                else { return false }
            }
            return true
        }
        for engine in engines { engine.cancel() }
        for engine in engines { await engine.value }
        try await ReplicaDevice.meet(devices)
        try await check(devices, world, promised, "seed \(seed)")
    }

    private func waitUntil(_ comment: String, _ condition: () async throws -> Bool) async throws {
        for _ in 0..<1200 {
            if try await condition() { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        Issue.record("stuck: \(comment)")
        throw Stuck()
    }

    private func check(
        _ devices: [ReplicaDevice], _ world: ReplicaWorld, _ promised: [String: String], _ seed: String
    ) async throws {
        let late = try ReplicaDevice(
            1, number: 9, in: world, on: try world.first.onAnotherDevice())
        try await ReplicaDevice.meet(devices + [late])
        // What was reported of the members in the meantime is looked at again after five minutes.
        for device in devices + [late] {
            for _ in 0..<400 { _ = device.world.milliseconds() }
        }
        try await ReplicaDevice.meet(devices + [late])
        let trees = try await onThread { try (devices + [late]).map { try $0.tree() } }
        for (device, tree) in zip(devices + [late], trees) {
            #expect(tree == trees[0], "\(seed): \(device.label)")
            let flaws = try await onThread { try device.flaws() }
            #expect(flaws == [], "\(seed): \(device.label)")
            let status = await device.engine.status
            let findings = status.findings.map { "\($0)" }
            #expect(findings == [], "\(seed): \(device.label)")
            #expect(status.failure == nil, "\(seed): \(device.label)")
            #expect(try device.vault.outgoing.unsentCount() == 0, "\(seed): \(device.label)")
        }
        for (name, text) in promised {
            let found = try? await onThread { try devices[0].read(name) }
            #expect(found == text, "\(seed): \(name)")
        }
    }
}
