internal import CofferRemote
internal import CofferTestSupport
internal import Foundation

extension RemoteConformance {
    static let crashCases: [RemoteCase] = [
        RemoteCase("Writers that are killed leave no part of an object, and at most one of each name") {
            place in
            guard let url = place.url else { throw SkippedCase() }
            let seed = UInt64.random(in: 0 ... .max)
            do {
                try await killWriters(url, place, seed: seed)
            } catch let error as ConformanceFailure {
                throw ConformanceFailure("\(error) (seed \(seed))")
            }
        },
        RemoteCase("An object of 64 MiB is put and got with little memory") { place in
            guard let url = place.url else { throw SkippedCase() }
            let program = try WorkloadProcess(["large", url, "\(place.vault.vault)"], place.environment)
            try expect(program.wait(), is: 0, "exit status; it said: \(program.lines)")
        },
    ]

    /// Two processes put objects of the same names, and replace one, until they are killed, repeatedly.
    private static func killWriters(_ url: String, _ place: RemotePlace, seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        var winners: [UInt64: UInt64] = [:]
        var round = 0
        // On a slow machine, more and longer rounds are needed until something was put.
        while round < 8 || (winners.count <= 10 && round < 80) {
            defer { round += 1 }
            let writers = try (0..<2).map { writer in
                try WorkloadProcess(
                    ["write", url, "\(place.vault.vault)", "\(round * 2 + writer)"], place.environment)
            }
            // The machine, not the seed, determines what they do meanwhile.
            usleep(place.startMicroseconds + UInt32((1 + round / 8) * (100_000 + random.below(300_000))))
            for writer in writers {
                usleep(UInt32(random.below(50_000)))
                writer.kill()
            }
            for writer in writers {
                try expect([0, 9].contains(writer.wait()), "a writer failed: \(writer.lines)")
                for (name, number) in writer.won {
                    try expect(winners[name] == nil, "\(name) was won twice")
                    winners[name] = number
                }
            }
            try await checkObjects(place, winners)
        }
        try expect(winners.count > 10, "hardly anything was put: \(winners.count)")
    }

    private static func checkObjects(_ place: RemotePlace, _ winners: [UInt64: UInt64]) async throws {
        var found: Set<UInt64> = []
        for entry in try await place.remote.all(place.vault.prefix) where entry.name != place.vault.format {
            let bytes = try await place.other.all(entry.name)
            let number = WholeObject.number(bytes)
            try expect(number != nil, "\(entry.name) is torn: \(bytes.count) bytes")
            try expect(bytes.count, is: entry.byteCount, "the size that is listed")
            guard place.vault.members.contains(entry.name), let name = RemoteLayout.sequence(of: entry.name)
            else { continue }
            found.insert(name)
            // A writer that was killed before it could report its success may have won.
            if let winner = winners[name] { try expect(number, is: winner, "\(entry.name) has other bytes") }
        }
        try expect(found.isSuperset(of: winners.keys), "objects that were put are missing")
    }
}
