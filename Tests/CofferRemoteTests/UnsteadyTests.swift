import CofferRemote
import CofferTestSupport
import RemoteConformance
import Testing

/// A simulation of remotes in trouble: each kind occurs, is the same for the same seed, and ends.
@Suite struct UnsteadyTests {
    private let vault = someVault()

    private func story(_ kinds: [RemoteTrouble], seed: UInt64) async throws -> (
        log: [String], remote: UnsteadyRemote, base: MemoryRemote
    ) {
        let (base, clock) = (MemoryRemote(), SteppingClock())
        let remote = UnsteadyRemote(base, kinds, seed: seed, clock: clock)
        var log: [String] = []
        for round in 0..<150 as Range<UInt64> {
            let name = vault.member(round % 20)
            do throws(RemoteError) {
                try await remote.put(name, .memory(WholeObject.bytes(round, byteCount: 64)), ifAbsent: false)
                log.append("\(try await remote.get(name, 0..<64).bytes.first ?? 0)")
                log.append("\(try await remote.list(vault.members, after: nil).entries.count)")
                try await remote.delete(vault.member(round % 7))
            } catch {
                log.append("\(error) \(clock.now)")
            }
        }
        return (log, remote, base)
    }

    @Test(arguments: Seeds.first(4))
    func eachKindOccursReproducibly(seed: UInt64) async throws {
        for kind in RemoteTrouble.allCases {
            let (log, remote, base) = try await story([kind], seed: seed)
            #expect(Set(remote.counts.keys) == [kind], "seed \(seed)")
            #expect(try await story([kind], seed: seed).log == log, "seed \(seed)")
            // What is there is always whole.
            for (_, bytes) in base.objects { #expect(WholeObject.number(bytes) != nil, "seed \(seed)") }
            remote.end()
            let count = remote.counts[kind]
            try await remote.put(vault.format, .memory([1]), ifAbsent: false)
            #expect(try await remote.get(vault.format, 0..<9).bytes == [1])
            #expect(try await remote.list(.all, after: nil) == base.list(.all, after: nil))
            #expect(remote.counts[kind] == count, "seed \(seed)")
        }
    }

    @Test func aLostAnswerIsOfAPutThatTookPlace() async throws {
        let (base, clock) = (MemoryRemote(), SteppingClock())
        let remote = UnsteadyRemote(base, [.lostAnswer], seed: 1, clock: clock)
        var lost = 0
        for number in 0..<60 as Range<UInt64> {
            do throws(RemoteError) {
                try await remote.put(vault.member(number), .memory([1]), ifAbsent: true)
            } catch { lost += 1 }
            #expect(base.objects[vault.member(number)] == [1])
        }
        #expect(lost > 5 && lost < 55)
    }
}
