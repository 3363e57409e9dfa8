/// A node as the kernel numbers it; programs see the same number as the inode number.
///
/// The upper 16 bits are the vault's slot in the profile, the lower 48 bits the item's number in the vault.
/// The root of the mount is 1, in slot 0. So a number keeps its meaning after a remount, but for nodes of the past
/// (`Node+Past`).
package struct Node: Hashable, Sendable {
    /// The root of the mount.
    package static let root = Node(slot: 0, item: 1)
    private static let itemBits: UInt64 = 48

    /// The slot of a vault in the profile, or of a past state; 0 for the root of the mount.
    package let slot: UInt16
    /// The item's number in the vault, 1 for its root; below 2^48.
    package let item: Int64

    package init(slot: UInt16, item: Int64) {
        self.slot = slot
        self.item = item
    }

    /// The node with the kernel's number.
    package init(number: UInt64) {
        slot = UInt16(truncatingIfNeeded: number >> Self.itemBits)
        item = Int64(number & (1 << Self.itemBits - 1))
    }

    /// The number by which the kernel and programs know the node.
    package var number: UInt64 {
        UInt64(slot) << Self.itemBits | UInt64(item)
    }

    var isRoot: Bool { self == .root }
}
