internal import CofferFormat

/// The way up from a directory, on which directories are put back where it leads in a circle.
///
/// Each directory is walked over once, however many are put back: what comes after one that is put back leads to
/// it, and has lower stamps, so that it need not be walked over again to know that, and who is the highest.
struct CycleWalk {
    /// Directories and the stamps of their places, each in the one behind it.
    private var path: [(item: ItemID, stamp: Stamp)] = []
    private var positions: [ItemID: Int] = [:]
    /// Those on the path than which none behind them is higher, in the order of the path.
    private var peaks: [Int] = []
    /// Directories that were on the path, and to which one they lead that was put back.
    private var bypassed: [ItemID: ItemID] = [:]
    /// Directories that lead into no cycle.
    private var done: Set<ItemID> = []

    /// What became of a step.
    enum Step {
        /// The way goes on from there.
        case new
        /// There is no cycle behind this.
        case done
        /// The highest of a cycle is to be put back, and the way goes on from it.
        case cycle(ItemID)
    }

    /// Goes on to the directory in which the last one lies.
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
        // Peaks descend: the first one from the position on is the highest of the cycle.
        var (low, high) = (0, peaks.count)
        while low < high {
            let middle = (low + high) / 2
            if peaks[middle] < position { low = middle + 1 } else { high = middle }
        }
        let highest = peaks[low]
        let member = path[highest].item
        peaks.removeSubrange((low + 1)...)
        for passed in path[(highest + 1)...] {
            positions[passed.item] = nil
            bypassed[passed.item] = member
        }
        path.removeSubrange((highest + 1)...)
        return .cycle(member)
    }

    /// Ends at the root, in nothing, or at what was known.
    mutating func end() {
        for passed in path { done.insert(passed.item) }
        done.formUnion(bypassed.keys)
        path.removeAll()
        positions.removeAll()
        peaks.removeAll()
        bypassed.removeAll()
    }

    private func key(_ position: Int) -> (Stamp, ItemID) { (path[position].stamp, path[position].item) }

    /// The directory on the path to which one leads that was there before; itself, if it was not.
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
