internal import CofferFormat

/// The queued work on slots, by depth, from the root downwards.
///
/// All directories of one depth are united before those below are examined.
struct Levels {
    /// The depth that is being handled; 0 before the first.
    private var depth = 0
    /// Entries that will enter a slot.
    private var entries: [Int: [EntryID]] = [:]
    /// Directories whose children will all enter slots.
    private var parents: [Int: [ItemID]] = [:]
    private var knownParents: Set<ItemID> = []
    /// Slots that entries entered or left, or that changed otherwise.
    private var slots: [Int: Set<Place>] = [:]

    /// Whether no work is left.
    var isEmpty: Bool { entries.isEmpty && parents.isEmpty && slots.isEmpty }

    /// Queues an entry that will enter a slot; only before the first depth.
    mutating func add(_ entry: EntryID, at depth: Int) { entries[depth, default: []].append(entry) }

    /// Queues a slot that an entry left; it is deeper than the depth that is being handled.
    mutating func add(left slot: Place, at depth: Int) {
        slots[max(depth, self.depth + 1), default: []].insert(slot)
    }

    /// Queues a slot that an entry entered, or stays in.
    mutating func add(entered slot: Place) { slots[depth, default: []].insert(slot) }

    /// Queues a directory whose children left their slots, once in a pass.
    ///
    /// They enter once the directories above them are known.
    ///
    /// - Parameter depth: The depth of the children.
    /// - Returns: False if the directory was queued before: its children have left.
    mutating func add(childrenOf directory: ItemID, at depth: Int) -> Bool {
        guard knownParents.insert(directory).inserted else { return false }
        parents[max(depth, self.depth + 1), default: []].append(directory)
        return true
    }

    /// Moves one level down.
    ///
    /// - Returns: The entries that will enter a slot there, and the directories whose whole contents will.
    mutating func descend() -> (entries: [EntryID], parents: [ItemID]) {
        depth += 1
        return (entries.removeValue(forKey: depth) ?? [], parents.removeValue(forKey: depth) ?? [])
    }

    /// Takes the queued slots of this depth.
    mutating func takeSlots() -> [Place] { slots.removeValue(forKey: depth)?.sorted() ?? [] }
}
