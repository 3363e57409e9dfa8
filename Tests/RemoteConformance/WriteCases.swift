internal import CofferRemote
internal import CofferTestSupport

extension RemoteConformance {
    static let writeCases: [RemoteCase] = [
        RemoteCase("Any client gets what was put, at once") { place in
            for (number, byteCount) in [16, 17, 4096, 70_001, 1 << 20].enumerated() {
                let name = try place.name("packs/\(number)")
                let bytes = WholeObject.bytes(UInt64(number), byteCount: byteCount)
                try await place.remote.put(name, .memory(bytes), ifAbsent: number % 2 == 0)
                try expect(try await place.other.all(name) == bytes, "other bytes of \(byteCount)")
            }
        },
        RemoteCase("Bytes may come from a part of a file, and fail with it") { place in
            let whole = WholeObject.bytes(3, byteCount: 700_000)
            let file = MemoryFile(whole)
            let name = try place.name("packs/part")
            try await place.remote.put(name, .file(file, 1000..<650_001), ifAbsent: true)
            try expect(try await place.other.all(name) == Array(whole[1000..<650_001]), "other bytes")
            let short = try place.name("packs/short")
            do throws(RemoteError) {
                try await place.remote.put(short, .file(file, 600_000..<800_000), ifAbsent: true)
                throw RemoteError.refused("a file that is too short was put")
            } catch {
                guard case .unreadable = error else { throw error }
            }
            try await expect(.absent, by: "get") { () async throws(RemoteError) in
                try await place.other.get(short, 0..<1)
            }
        },
        RemoteCase("Put if absent leaves an existing object unchanged") { place in
            let name = place.vault.member(0)
            try await place.remote.put(name, .memory([1, 2, 3]), ifAbsent: true)
            for client in [place.remote, place.other] {
                try await expect(.exists, by: "put") { () async throws(RemoteError) in
                    try await client.put(name, .memory([4]), ifAbsent: true)
                }
            }
            try expect(try await place.other.all(name), is: [1, 2, 3], "what is there")
        },
        RemoteCase("A put replaces an object, with shorter, longer, and equal bytes") { place in
            let name = try place.name("identities/me/transient")
            for bytes in [[1, 2, 3], [4], [5, 6, 7, 8, 9], [], [1, 2, 3], [1, 2, 3]] as [[UInt8]] {
                try await place.remote.put(name, .memory(bytes), ifAbsent: false)
                try expect(try await place.other.all(name), is: bytes, "what is there")
            }
        },
        RemoteCase("A deleted object is absent, and may be deleted and put again") { place in
            let name = try place.name("requests/one")
            try await place.remote.delete(name)
            try await place.remote.put(name, .memory([1]), ifAbsent: true)
            try await place.other.delete(name)
            try await place.remote.delete(name)
            try await expect(.absent, by: "get") { () async throws(RemoteError) in
                try await place.remote.get(name, 0..<1)
            }
            try expect(try await place.remote.all(try place.prefix("requests/")), is: [], "the listing")
            try await place.remote.put(name, .memory([2]), ifAbsent: true)
            try expect(try await place.other.all(name), is: [2], "what is there")
        },
        RemoteCase("Random calls have the same results as in memory") { place in
            var random = SplitMix64(seed: 20_261_121)
            let model = MemoryRemote(pageEntryCountMax: 7)
            try await model.put(place.vault.format, .memory([1]), ifAbsent: true)
            let names = try (0..<12).map { try place.name("log/\($0 % 4)/\($0)") }
            for step in 0..<300 {
                guard let name = random.pick(names) else { return }
                let bytes = random.bytes(random.below(300))
                let ifAbsent = random.oneIn(2)
                let call = random.below(3)
                let outcomes = await (
                    outcome(call, name, bytes, ifAbsent, place.remote),
                    outcome(call, name, bytes, ifAbsent, model)
                )
                try expect(outcomes.0, is: outcomes.1, "call \(step)")
                if step % 50 == 49 {
                    let expected = try await model.all(place.vault.prefix)
                    try expect(try await place.other.all(place.vault.prefix), is: expected, "listing")
                }
            }
        },
    ]

    private static func outcome(
        _ call: Int, _ name: RemoteName, _ bytes: [UInt8], _ ifAbsent: Bool, _ remote: any RemoteBackend
    ) async -> String {
        do throws(RemoteError) {
            switch call {
            case 0: try await remote.put(name, .memory(bytes), ifAbsent: ifAbsent)
            case 1: try await remote.delete(name)
            default: return "\(try await remote.all(name))"
            }
            return "done"
        } catch {
            return "\(error)"
        }
    }
}
