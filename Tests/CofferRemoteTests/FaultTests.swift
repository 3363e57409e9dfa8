import CofferRemote
import CofferTestSupport
import RemoteConformance
import Testing

/// Simulations of bad remotes: their faults occur, are reproducible, and never invent bytes.
@Suite struct FaultTests {
    private let vault = someVault()

    /// The states of another client's objects that a client sees, until it sees all.
    private struct Seen {
        var failures = 0, gaps = 0, cut = 0, stale = 0
        var log: [String] = []
    }

    private func look(seed: UInt64) async throws -> Seen {
        let base = MemoryRemote(pageEntryCountMax: 20)
        let faulty = FaultyRemote(base, .all, seed: seed)
        var seen = Seen()
        for round in 0..<600 as Range<UInt64> {
            let object = WholeObject.bytes(round, byteCount: 64)
            try await base.put(vault.member(round % 60), .memory(object), ifAbsent: false)
            do throws(RemoteError) {
                let names = try await faulty.all(vault.members).map {
                    RemoteLayout.sequence(of: $0.name) ?? 0
                }
                if zip(names, names.dropFirst()).contains(where: { $0 + 1 < $1 }) { seen.gaps += 1 }
                seen.log.append("\(names)")
                let bytes = try await faulty.get(vault.member(round % 60), 0..<64)
                if bytes.objectByteCount < 64 {
                    seen.cut += 1
                    // Truncated, and perhaps also old.
                    let isOne = stride(from: round % 60, through: round, by: 60).contains { old in
                        WholeObject.bytes(old, byteCount: 64).starts(with: bytes.bytes)
                    }
                    #expect(isOne, "seed \(seed)")
                } else {
                    let number = WholeObject.number(bytes.bytes)
                    #expect(number != nil, "seed \(seed)")
                    if number != round { seen.stale += 1 }
                }
            } catch {
                #expect(error == .absent || error.canRetryHelp, "seed \(seed)")
                if error != .absent { seen.failures += 1 }
                seen.log.append("\(error)")
            }
        }
        faulty.become(RemoteFaults())
        #expect(try await faulty.all(vault.members) == base.all(vault.members), "seed \(seed)")
        return seen
    }

    @Test(arguments: Seeds.first(8))
    func everyFaultOccursReproducibly(_ seed: UInt64) async throws {
        let seen = try await look(seed: seed)
        #expect(seen.failures > 0 && seen.gaps > 0 && seen.stale + seen.cut > 0, "seed \(seed): \(seen)")
        #expect(try await look(seed: seed).log == seen.log, "seed \(seed)")
    }

    /// Put-if-absent that fails after its effect or is repeated has at most one winner.
    @Test(arguments: Seeds.first(20))
    func faultsNeverMakeTwoWinners(_ seed: UInt64) async throws {
        var faults = RemoteFaults()
        (faults.failsBefore, faults.failsAfter, faults.repeats) = (4, 4, 4)
        let base = MemoryRemote()
        let clients = (0..<3).map { FaultyRemote(base, faults, seed: seed &* 3 &+ $0) }
        for round in 0..<40 as Range<UInt64> {
            var winners = 0
            for (number, client) in clients.enumerated() {
                do throws(RemoteError) {
                    try await client.put(vault.member(round), .memory([UInt8(number)]), ifAbsent: true)
                    winners += 1
                } catch {
                    #expect(error == .exists || error.canRetryHelp, "seed \(seed)")
                }
            }
            #expect(winners <= 1, "seed \(seed)")
        }
    }

    /// A folder that another tool replicates: both replicas take the same name, and the tool keeps one object.
    @Test(arguments: Seeds.first(8))
    func replicatedFoldersBecomeEqual(_ seed: UInt64) async throws {
        let replicated = ReplicatedFolders(seed: seed)
        let (alice, bob) = replicated.folders
        for number in 0..<30 as Range<UInt64> {
            try await alice.put(vault.member(number), .memory([1, UInt8(number)]), ifAbsent: true)
            _ = try await replicated.replicate(1)
        }
        try await bob.put(vault.format, .memory([2]), ifAbsent: true)
        try await alice.put(vault.format, .memory([1]), ifAbsent: true)
        #expect(try await replicated.replicate(), "seed \(seed)")
        #expect(alice.objects == bob.objects, "seed \(seed)")
        #expect(bob.objects.count == 31, "seed \(seed)")
        try await bob.delete(vault.member(3))
        try await alice.put(vault.member(4), .memory([9]), ifAbsent: false)
        #expect(try await replicated.replicate(), "seed \(seed)")
        #expect(alice.objects[vault.member(3)] == nil && bob.objects[vault.member(4)] == [9], "seed \(seed)")
    }
}
