internal import CofferRemote

extension RemoteConformance {
    static let limitCases: [RemoteCase] = [
        RemoteCase("Names of all lengths and letters are accepted") { place in
            let long = String(repeating: "n", count: RemoteName.segmentByteCountMax)
            let room = RemoteName.byteCountMax - place.vault.prefix.text.utf8.count
            let deep = String("\(long)/\(long)/\(long)/\(long)".prefix(room))
            let rests = [
                "packs/\(long)", deep, "a/b/c/d/e/f", "packs/0", "packs/-", "packs/_", "packs/--",
                "packs/a..b",
                "packs/abcdefghijklmnopqrstuvwxyz0123456789._-x",
            ]
            for rest in rests {
                try await place.remote.put(try place.name(rest), .memory([9]), ifAbsent: true)
            }
            for rest in rests { try expect(try await place.other.all(place.name(rest)), is: [9], rest) }
            try expect(try await place.other.all(place.vault.prefix).count, is: rests.count + 1, "entries")
        },
        RemoteCase("A full remote says so, keeps its objects, and no part of a refused one", .small) {
            place in
            let piece = WholeObject.bytes(1, byteCount: 1 << 20)
            var put: [RemoteName] = []
            var isFull = false
            for number in 0..<64 where !isFull {
                let name = try place.name("packs/\(number)")
                do throws(RemoteError) {
                    try await place.remote.put(name, .memory(piece), ifAbsent: number % 2 == 0)
                    put.append(name)
                } catch {
                    guard error == .full else { throw error }
                    isFull = true
                    try await expect(.absent, by: "what was refused") { () async throws(RemoteError) in
                        try await place.other.get(name, 0..<1)
                    }
                }
            }
            try expect(isFull, "64 MiB were taken by a small place")
            try expect(put.count > 0, "nothing was taken")
            for name in put { try expect(try await place.other.all(name) == piece, "\(name) is hurt") }
            try await place.remote.delete(put[0])
            try await place.remote.put(put[0], .memory(piece), ifAbsent: true)
        },
        RemoteCase("An object is not lost if its successor has no room", .small) { place in
            let name = try place.name("identities/me/transient")
            let old = WholeObject.bytes(1, byteCount: 1 << 19)
            try await place.remote.put(name, .memory(old), ifAbsent: false)
            try await expect(.full, by: "put") { () async throws(RemoteError) in
                try await place.remote.put(
                    name, .memory(WholeObject.bytes(2, byteCount: 60 << 20)), ifAbsent: false)
            }
            try expect(try await place.other.all(name) == old, "the old object is hurt")
        },
        RemoteCase("A read-only remote can be read, and refuses everything else", .readOnly) { place in
            let name = RemotePlace.readOnlyObject(place.vault)
            try expect(try await place.remote.all(name), is: [1, 2, 3], "what is there")
            try expect(try await place.remote.all(place.vault.prefix).count, is: 2, "entries")
            for ifAbsent in [true, false] {
                let new = try place.name("packs/new")
                try await expect(.readOnly, by: "put") { () async throws(RemoteError) in
                    try await place.remote.put(new, .memory([1]), ifAbsent: ifAbsent)
                }
            }
            try await expect(.readOnly, by: "delete") { () async throws(RemoteError) in
                try await place.remote.delete(name)
            }
            try expect(try await place.remote.all(name), is: [1, 2, 3], "what is there afterwards")
        },
    ]
}
