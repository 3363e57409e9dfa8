internal import CofferRemote

extension RemoteConformance {
    static let listCases: [RemoteCase] = [
        RemoteCase("Listings are in the order of names, with sizes, whatever was put first") { place in
            // "-" and "." come before "/", digits and letters after it.
            let rests = ["a/z", "a-b", "a.b/c", "a0", "a_", "b/a/a", "b/a-/a", "b/a0/a", "z", "a/-", "a/0/0"]
            for (index, rest) in rests.enumerated() {
                let name = try place.name("packs/\(rest)")
                try await place.remote.put(name, .memory(Array(repeating: 7, count: index)), ifAbsent: true)
            }
            let listing = try await place.other.all(try place.prefix("packs/"))
            let expected = try rests.enumerated().map { index, rest in
                RemotePage.Entry(name: try place.name("packs/\(rest)"), byteCount: index)
            }
            try expect(listing, is: expected.sorted { $0.name < $1.name }, "the listing")
        },
        RemoteCase("A prefix covers whole segments, and may be empty") { place in
            for rest in ["log/a/1", "log/a/2", "log/ab/1", "log/b", "logs/a/1"] {
                try await place.remote.put(try place.name(rest), .memory([1]), ifAbsent: true)
            }
            let counts = [
                ("log/a/", 2), ("log/ab/", 1), ("log/", 4), ("log/c/", 0), ("log/a/1/", 0), ("", 6),
            ]
            for (prefix, count) in counts {
                let prefix = prefix.isEmpty ? place.vault.prefix : try place.prefix(prefix)
                let listing = try await place.remote.all(prefix)
                try expect(listing.count, is: count, "entries below \(prefix)")
                try expect(listing.allSatisfy { prefix.contains($0.name) }, "others below \(prefix)")
            }
            let all = try await place.remote.all(.all)
            try expect(all, is: try await place.remote.all(place.vault.prefix), "all names")
        },
        RemoteCase("A listing may continue after any name, existing or not") { place in
            let rests = ["a", "b/1", "b/2", "b-", "c/1/1", "c/1/2", "d"]
            for rest in rests {
                try await place.remote.put(try place.name("packs/\(rest)"), .memory([1]), ifAbsent: true)
            }
            let prefix = try place.prefix("packs/")
            let names = try rests.map { try place.name("packs/\($0)") }.sorted()
            let others = [
                "0", "b", "b/0", "b/1a", "b/3", "b-0", "b0", "c/1", "c/1/0", "c/2", "z", "a-", "c-",
            ]
            for after in try names + others.map({ try place.name("packs/\($0)") }) + [place.vault.format] {
                let listing = try await place.other.all(prefix, after: after)
                try expect(listing.map(\.name), is: names.filter { $0 > after }, "after \(after)")
            }
            let behind = try place.name("requests/z")
            try expect(try await place.other.list(prefix, after: behind).entries, is: [], "after \(behind)")
        },
        RemoteCase("A listing of many pages has every name once, while others are put and deleted") { place in
            let prefix = place.vault.packs
            let countMax = 1100
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<4 {
                    group.addTask {
                        for number in stride(from: worker, to: countMax, by: 4) {
                            let name = try place.name("packs/\(number % 3)/\(number)")
                            try await place.remote.put(name, .memory([1, 2]), ifAbsent: true)
                        }
                    }
                }
                try await group.waitForAll()
            }
            let stays = Set(try await place.remote.all(prefix))
            try expect(stays.count, is: countMax, "entries")
            let changer = Task {
                for number in 0..<60 {
                    let name = try place.name("packs/\(number % 3)/x\(number)")
                    try await place.remote.put(name, .memory([1]), ifAbsent: true)
                    if number % 2 == 0 { try await place.remote.delete(name) }
                }
            }
            for _ in 0..<3 {
                let listing = try await place.other.all(prefix)
                let names = listing.map(\.name)
                try expect(names == names.sorted() && Set(names).count == names.count, "order, or doubles")
                try expect(stays.isSubset(of: listing), "names that stay are missing")
            }
            try await changer.value
        },
    ]
}
