package import CofferRemote
internal import CofferTestSupport

/// Two folders that a tool keeps equal, one object at a time and in no order: a client sees its own objects
/// at once, and those of the other later.
///
/// Put-if-absent holds within a folder only.
///
/// Of two different objects of one name, the tool keeps one in both folders, and sets the other aside.
package final class ReplicatedFolders {
    /// The folder of each client.
    package let folders = (MemoryRemote(), MemoryRemote())
    private var known: [RemoteName: [UInt8]] = [:]
    private var random: SplitMix64

    package init(seed: UInt64) {
        random = SplitMix64(seed: seed)
    }

    /// Copies up to `countMax` differences, drawn by the seed.
    ///
    /// - Returns: Whether the folders are equal now.
    package func replicate(_ countMax: Int = .max) async throws(RemoteError) -> Bool {
        for _ in 0..<countMax {
            guard try await replicateOne() else { return true }
        }
        return folders.0.objects == folders.1.objects
    }

    private func replicateOne() async throws(RemoteError) -> Bool {
        let (left, right) = (folders.0.objects, folders.1.objects)
        let names = Set(left.keys).union(right.keys).filter { left[$0] != right[$0] }.sorted()
        guard let name = random.pick(names) else { return false }
        let last = known[name]
        // The side that has changed since they were equal; by chance if both have.
        let leftWins = left[name] == last ? false : right[name] == last || random.oneIn(2)
        let bytes = leftWins ? left[name] : right[name]
        let loser = leftWins ? folders.1 : folders.0
        if let bytes {
            try await loser.put(name, .memory(bytes), ifAbsent: false)
        } else {
            try await loser.delete(name)
        }
        known[name] = bytes
        return true
    }
}
