internal import CofferRemote

extension RemoteConformance {
    static let readCases: [RemoteCase] = [
        RemoteCase("A range returns exactly its bytes, at all edges of the object") { place in
            let name = try place.name("packs/edges")
            let whole = WholeObject.bytes(1, byteCount: 100_000)
            try await place.remote.put(name, .memory(whole), ifAbsent: false)
            let edges = [0, 1, 4095, 4096, 65_536, 99_999, 100_000, 100_001, 200_000]
            for start in edges {
                for end in edges where end >= start {
                    let content = try await place.other.get(name, start..<end)
                    let expected = Array(whole[(start..<end).clamped(to: 0..<whole.count)])
                    try expect(content.objectByteCount, is: whole.count, "size, \(start)..<\(end)")
                    try expect(content.bytes == expected, "\(start)..<\(end) gives other bytes")
                }
            }
        },
        RemoteCase("An empty object is an object") { place in
            let name = try place.name("packs/empty")
            try await place.remote.put(name, .memory([]), ifAbsent: true)
            let content = try await place.other.get(name, 0..<10)
            try expect(content, is: RemoteContent(bytes: [], objectByteCount: 0), "an empty object")
            try await expect(.exists, by: "a second put if absent") { () async throws(RemoteError) in
                try await place.other.put(name, .memory([1]), ifAbsent: true)
            }
        },
        RemoteCase("A missing object is absent, for every range and at every depth") { place in
            for rest in ["packs/none", "log/none/0000000000000000", "none"] {
                let name = try place.name(rest)
                for range in [0..<0, 0..<1, 5..<10] {
                    try await expect(.absent, by: "get \(rest)") { () async throws(RemoteError) in
                        try await place.remote.get(name, range)
                    }
                }
            }
        },
        RemoteCase("A range longer than the limit is refused") { place in
            let limit = place.remote.limits.rangeByteCountMax
            try await expect(.tooLarge(byteCount: limit + 1, limit: limit), by: "get") {
                () async throws(RemoteError) in
                try await place.remote.get(place.vault.format, 0..<limit + 1)
            }
        },
    ]
}
