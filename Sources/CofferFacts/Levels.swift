internal import CofferFormat

/// What there is to do about slots, by how deep they lie: from the root downwards.
///
/// Which directories are one is found out for all of one depth before those below are looked at.
struct Levels {
    /// What is looked at now; 0 before that.
    private var depth = 0
    /// Who is to enter a slot.
    private var entries: [Int: [EntryID]] = [:]
    /// Directories whose children all are to enter slots.
    private var parents: [Int: [ItemID]] = [:]
    private var knownParents: Set<ItemID> = []
    /// Slots in which something came or went, or is otherwise than before.
    private var slots: [Int: Set<Place>] = [:]

    /// Whether nothing is left.
    var isEmpty: Bool { entries.isEmpty && parents.isEmpty && slots.isEmpty }

    /// Notes who is to enter a slot; before the first depth only.
    mutating func add(_ entry: EntryID, at depth: Int) { entries[depth, default: []].append(entry) }

    /// Notes a slot that somebody left: it is deeper than what is looked at now.
    mutating func add(left slot: Place, at depth: Int) {
        slots[max(depth, self.depth + 1), default: []].insert(slot)
    }

    /// Notes a slot that somebody entered, or stays in.
    mutating func add(entered slot: Place) { slots[depth, default: []].insert(slot) }

    /// Notes a directory whose children left their slots; once in a pass, as they enter when the directories less
    /// deep are known.
    ///
    /// - Parameter depth: That of the children.
    /// - Returns: False if this was noted before: they have left.
    mutating func add(childrenOf directory: ItemID, at depth: Int) -> Bool {
        guard knownParents.insert(directory).inserted else { return false }
        parents[max(depth, self.depth + 1), default: []].append(directory)
        return true
    }

    /// Goes one deeper.
    ///
    /// - Returns: Who is to enter a slot there: entries, and all that lies in some directories.
    mutating func descend() -> (entries: [EntryID], parents: [ItemID]) {
        depth += 1
        return (entries.removeValue(forKey: depth) ?? [], parents.removeValue(forKey: depth) ?? [])
    }

    /// The slots of this depth to be looked at.
    mutating func takeSlots() -> [Place] { slots.removeValue(forKey: depth)?.sorted() ?? [] }
}
