import CofferFormat
import CofferRemote
import CofferTestSupport
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

import CofferSync

/// Many devices, edits, faults and crashes: in the end all devices have the same.
struct SimulationTests {
    @Test(arguments: 0..<40 as Range<UInt64>)
    func devicesWithFaultsAgreeInTheEnd(seed: UInt64) async throws {
        try await simulate(seed, crashes: false, commitsPerCheckpoint: 1000)
    }

    @Test(arguments: 100..<140 as Range<UInt64>)
    func devicesThatCrashAgreeInTheEnd(seed: UInt64) async throws {
        try await simulate(seed, crashes: true, commitsPerCheckpoint: 1000)
    }

    @Test(arguments: 200..<240 as Range<UInt64>)
    func devicesWithCheckpointsAgreeInTheEnd(seed: UInt64) async throws {
        try await simulate(seed, crashes: seed % 2 == 0, commitsPerCheckpoint: 12)
    }

    /// A device, and its connection to the remote.
    private struct Station {
        let device: Device
        let remote: RetryingRemote
    }

    private func simulate(_ seed: UInt64, crashes: Bool, commitsPerCheckpoint: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let world = try await SyncWorld()
        var stations = [try await station(world, world.owner, 0, &random, commitsPerCheckpoint)]
        for number in 1..<(2 + random.below(3)) {
            let role: Role = random.oneIn(4) ? .reader : random.oneIn(3) ? .admin : .writer
            let person = random.oneIn(3) ? world.owner : try await world.adds("P\(number)", role)
            stations.append(try await station(world, person, number, &random, commitsPerCheckpoint))
        }
        var (rounds, struck) = (0, 0)
        for step in 0..<60 {
            let station = stations[random.below(stations.count)]
            switch random.below(3) {
            case 0: try await station.device.writes("n\(random.below(6))", "\(seed) \(step)")
            case 1 where crashes: struck += await crash(station, 1 + random.below(60)) ? 1 : 0
            default: rounds += (try? await station.device.sync()) == nil ? 0 : 1
            }
        }
        // Otherwise nothing was tested.
        #expect(rounds > 3 && (!crashes || struck > 1), "seed \(seed): \(rounds) rounds, \(struck) crashes")
        try await settle(stations.map(\.device), world, seed)
    }

    private func station(
        _ world: SyncWorld, _ person: Person, _ number: Int, _ random: inout SplitMix64,
        _ commitsPerCheckpoint: UInt64
    ) async throws -> Station {
        // The faults begin once members and keys are known.
        let faulty = FaultyRemote(world.remote, RemoteFaults(), seed: random.next())
        let remote = RetryingRemote(faulty, clock: InstantClock(hasPolls: false))
        let device = try world.device(person, "d\(number)", remote: remote)
        device.setup.commitsPerCheckpoint = commitsPerCheckpoint
        device.restart()
        try await device.sync()
        faulty.become(.all)
        return Station(device: device, remote: remote)
    }

    /// Ends the process at one of its steps, if it takes that many, and starts another one.
    private func crash(_ station: Station, _ steps: Int) async -> Bool {
        let point = CrashPoint(after: steps)
        let device = station.device
        await device.replica.crashes(at: point)
        device.restart(remote: CrashingRemote(base: station.remote, point: point))
        try? await device.sync()
        await device.replica.crashes(at: nil)
        device.restart(remote: station.remote)
        return point.hasStruck
    }

    private func settle(_ devices: [Device], _ world: SyncWorld, _ seed: UInt64) async throws {
        for device in devices { device.restart(remote: world.remote) }
        var objects = -1
        for _ in 0..<60 where objects != world.remote.objects.count {
            objects = world.remote.objects.count
            for device in devices { try await device.sync() }
        }
        #expect(objects == world.remote.objects.count, "seed \(seed): it does not come to rest")
        let first = await devices[0].stateHash()
        for device in devices {
            #expect(await device.stateHash() == first, "seed \(seed): \(device.label)")
            let odd = await device.findings()
            #expect(odd.isEmpty, "seed \(seed): \(odd)")
        }
        // A new device sees the same.
        let late = try world.device(world.owner, "late")
        try await late.sync()
        #expect(await late.stateHash() == first, "seed \(seed): a new device")
        let files = await devices[0].files()
        #expect(await late.files() == files)
    }
}
