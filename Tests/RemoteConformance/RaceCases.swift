internal import CofferRemote

extension RemoteConformance {
    static let raceCases: [RemoteCase] = [
        RemoteCase("Of several puts if absent at once, one succeeds, and its bytes are there") { place in
            for round in 0..<40 {
                let name = place.vault.member(UInt64(round))
                let winners = try await withThrowingTaskGroup(of: UInt64?.self) { group in
                    for writer in 0..<4 {
                        group.addTask {
                            let number = UInt64(round * 4 + writer)
                            let bytes = WholeObject.bytes(number, byteCount: 16 + writer * 30_000)
                            let client = writer % 2 == 0 ? place.remote : place.other
                            do throws(RemoteError) {
                                try await client.put(name, .memory(bytes), ifAbsent: true)
                                return number
                            } catch {
                                if error == .exists { return nil }
                                throw error
                            }
                        }
                    }
                    return try await group.reduce(into: [UInt64]()) {
                        if let number = $1 { $0.append(number) }
                    }
                }
                try expect(winners.count, is: 1, "winners of round \(round)")
                let number = WholeObject.number(try await place.other.all(name))
                try expect(number, is: winners.first, "what is there in round \(round)")
            }
        },
        RemoteCase("A read while an object is replaced sees one whole object") { place in
            let name = try place.name("identities/me/transient")
            try await place.remote.put(
                name, .memory(WholeObject.bytes(0, byteCount: 300_000)), ifAbsent: true)
            let writer = Task {
                for number in 1..<80 {
                    let bytes = WholeObject.bytes(UInt64(number), byteCount: 16 + (number * 37_123) % 400_000)
                    try await place.remote.put(name, .memory(bytes), ifAbsent: false)
                    await Task.yield()
                }
            }
            let reader = Task {
                var reads = 0
                while !Task.isCancelled {
                    let bytes = try await place.other.all(name)
                    try expect(WholeObject.number(bytes) != nil, "a torn object of \(bytes.count) bytes")
                    reads += 1
                    // Remotes in memory never wait by themselves.
                    await Task.yield()
                }
                return reads
            }
            try await writer.value
            reader.cancel()
            do {
                try expect(try await reader.value > 0, "nothing was read")
            } catch RemoteError.cancelled {}
        },
        RemoteCase("A call that is cancelled ends, and leaves no part of an object") { place in
            for round in 0..<20 {
                let name = try place.name("packs/cancelled-\(round)")
                let bytes = WholeObject.bytes(UInt64(round), byteCount: 500_000)
                let put = Task { try await place.remote.put(name, .memory(bytes), ifAbsent: true) }
                for _ in 0..<round { await Task.yield() }
                put.cancel()
                var isDone = true
                do { try await put.value } catch RemoteError.cancelled { isDone = false }
                do {
                    let number = WholeObject.number(try await place.other.all(name))
                    try expect(number, is: UInt64(round), "a part of an object")
                } catch RemoteError.absent {
                    try expect(!isDone, "a put that was done is absent")
                }
            }
        },
    ]
}
