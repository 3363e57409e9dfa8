// Nodes of the past of vaults.
//
// A state that programs look at has a slot of its own, from `firstPastSlot` on, and its items have their numbers in the
// vault. The two directories above the states are items of the vault's slot, with numbers that no item gets.
extension Node {
    /// The first slot of past states; vaults get lower ones.
    package static let firstPastSlot: UInt16 = 0xF000
    private static let aboveStates: Int64 = 1 << 47

    /// The name in a vault's root that leads to its past.
    static let hiddenName = Array(".coffer".utf8)
    /// The name in the hidden directory that leads to the states.
    static let historyName = Array("history".utf8)

    /// The directory `.coffer` of the vault in a slot.
    static func hidden(in slot: UInt16) -> Node { Node(slot: slot, item: aboveStates | 1) }

    /// The directory `.coffer/history` of the vault in a slot.
    static func history(in slot: UInt16) -> Node { Node(slot: slot, item: aboveStates | 2) }

    /// A number to show in a listing of `.coffer/history`, of a state that has no slot yet.
    static func unseen(_ state: Int64, in slot: UInt16) -> Node {
        Node(slot: slot, item: aboveStates | (state + 2) & (aboveStates - 1))
    }

    /// Whether it is `.coffer` or `.coffer/history` of a vault.
    package var isAboveStates: Bool { item >= Self.aboveStates }

    /// Whether it is `.coffer/history` of a vault.
    var isHistory: Bool { item == Self.aboveStates | 2 }

    /// Whether it may belong to the past of a vault; an old profile may have a vault in one of the upper slots.
    @inline(__always)
    package var mayBePast: Bool { slot >= Self.firstPastSlot || item >= Self.aboveStates }
}
