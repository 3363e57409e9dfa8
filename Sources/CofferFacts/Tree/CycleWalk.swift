internal import CofferFormat
internal import CofferSystem

/// A walk from a directory upwards, on which directories are put back where the path forms a cycle.
///
/// The walk visits each directory once, however many are put back. The directories after one that is put back
/// lead to it, and have lower stamps; so they need not be visited again to find the cycle and its highest
/// member.
struct CycleWalk {
    /// Directories with the stamps of their places; each lies in the next one.
    private var path: [(item: ItemID, stamp: Stamp)] = []
    private var positions: [ItemID: Int] = [:]
    /// Positions of directories on the path without a higher one after them, ascending.
    private var peaks: [Int] = []
    /// Directories that were on the path, and the put-back directory that each leads to.
    private var bypassed: [ItemID: ItemID] = [:]
    /// Directories that lead into no cycle.
    private var done: Set<ItemID> = []

    /// The result of a step.
    enum Step {
        /// The walk continues from there.
        case new
        /// There is no cycle above.
        case done
        /// This directory, the highest of a cycle, must be put back; the walk continues from it.
        case cycle(ItemID)
    }

    /// Walks on to the directory that contains the last one.
    mutating func step(to directory: ItemID, _ stamp: Stamp) -> Step {
        if done.contains(directory) { return .done }
        let known = reached(from: directory)
        guard let position = positions[known] else {
            while let last = peaks.last, key(last) < (stamp, directory) { peaks.removeLast() }
            peaks.append(path.count)
            positions[directory] = path.count
            path.append((directory, stamp))
            return .new
        }
        // Peaks descend: the first one at or after the position is the highest of the cycle.
        let first = peaks.partitioningIndex { $0 >= position }
        let highest = peaks[first]
        let member = path[highest].item
        peaks.removeSubrange((first + 1)...)
        for passed in path[(highest + 1)...] {
            positions[passed.item] = nil
            bypassed[passed.item] = member
        }
        path.removeSubrange((highest + 1)...)
        return .cycle(member)
    }

    /// Ends the walk at the root, at nothing, or at a known directory.
    mutating func end() {
        for passed in path { done.insert(passed.item) }
        done.formUnion(bypassed.keys)
        path.removeAll()
        positions.removeAll()
        peaks.removeAll()
        bypassed.removeAll()
    }

    private func key(_ position: Int) -> (Stamp, ItemID) { (path[position].stamp, path[position].item) }

    /// The directory on the path that one from before leads to; the directory itself if it is new.
    private mutating func reached(from directory: ItemID) -> ItemID {
        var end = directory
        while let next = bypassed[end] { end = next }
        var current = directory
        while let next = bypassed[current], next != end {
            bypassed[current] = end
            current = next
        }
        return end
    }
}
