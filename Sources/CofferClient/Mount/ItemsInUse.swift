internal import CofferFUSE
internal import CofferVault

/// The items that programs use while a profile is locked, without their names and contents.
///
/// The next process needs them, since an item without a name is otherwise removed.
struct ItemsInUse: Codable, Sendable {
    /// The numbers of the items that the kernel knows, by slot.
    var items: [UInt16: Set<Int64>] = [:]
    /// The old versions of files among them, by slot.
    var outdated: [UInt16: [OutdatedVersion]] = [:]

    static let none = ItemsInUse()

    init() {}

    /// Finds the items among the nodes that the kernel knows.
    init(_ nodes: [Node], in vaults: [MountedVault]) {
        // Of the past, nothing stays.
        let open = Set(vaults.map(\.slot))
        for node in nodes
        where node.slot != 0 && !node.isAboveStates
            && (node.slot < Node.firstPastSlot || open.contains(node.slot))
        { items[node.slot, default: []].insert(node.item) }
        for mounted in vaults {
            outdated[mounted.slot] = mounted.vault.outdatedVersions(among: items[mounted.slot] ?? [])
        }
    }

    /// Those among them that the kernel still knows.
    func remaining(_ nodes: [Node]) -> ItemsInUse {
        var known: [UInt16: Set<Int64>] = [:]
        for node in nodes { known[node.slot, default: []].insert(node.item) }
        var rest = self
        for (slot, items) in items {
            let left = items.intersection(known[slot] ?? [])
            rest.items[slot] = left
            rest.outdated[slot] = outdated[slot]?.filter { left.contains($0.item) }
        }
        return rest
    }

    /// The numbers of the items in a slot.
    func items(in slot: UInt16) -> Set<Int64> { items[slot] ?? [] }
}
