internal import CofferRemote

extension RemoteConformance {
    static let changeCases: [RemoteCase] = [
        RemoteCase("New, replaced and removed objects are reported at once") { place in
            var changes = place.remote.changes(below: place.vault.logs).makeAsyncIterator()
            try expect(await changes.next() == place.vault.logs, "the first element is not all")
            let names = try ["log/a/1", "log/b/1", "log/a/2"].map { try place.name($0) }
            for name in names {
                try await place.other.put(name, .memory([1]), ifAbsent: true)
                try await wait(for: name, &changes)
            }
            try await place.other.put(names[0], .memory([2]), ifAbsent: false)
            try await wait(for: names[0], &changes)
            try await place.other.delete(names[1])
            try await wait(for: names[1], &changes)
        },
        RemoteCase("A cancelled watch ends") { place in
            let watcher = Task {
                var count = 0
                for await _ in place.remote.changes(below: place.vault.prefix) { count += 1 }
                return count
            }
            watcher.cancel()
            _ = await watcher.value
        },
    ]

    /// Returns when a change covers a name; other changes meanwhile are superfluous, and allowed.
    private static func wait(
        for name: RemoteName, _ changes: inout RemoteChanges.AsyncIterator
    ) async throws {
        while let change = await changes.next() {
            if change.contains(name) { return }
        }
        throw ConformanceFailure("the changes end by themselves")
    }
}
