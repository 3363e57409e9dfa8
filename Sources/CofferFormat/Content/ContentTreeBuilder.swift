/// Cuts the entries of an item into pages, in the order of their offsets.
///
/// The tree depends on the entries alone: a node with up to 32 entries in its range is a leaf; any other node
/// has a child for each sixteenth of its range in which entries begin; the root is the lowest node from
/// offset 0 on that contains all entries. Keeps no more than one path of the tree in memory.
package struct ContentTreeBuilder {
    /// Takes a finished page, children before parents, and returns where it is stored.
    package typealias Emit<Failure: Error> =
        (ContentNode, ContentPage) throws(Failure) -> PageReference

    private struct OpenNode {
        let node: ContentNode
        var entries: [ContentEntry] = []
        /// Children that are finished.
        var children: [ContentPage.Child] = []
        /// Whether it has too many entries for a leaf.
        var isInner = false
    }

    private var open: [OpenNode]

    /// Begins a tree.
    ///
    /// - Parameter last: The offset of the last entry.
    package init(lastOffset last: Int64) {
        open = [OpenNode(node: .root(holding: last))]
    }

    /// Adds the next entry, which must begin after all entries before it, and not after the last offset.
    package mutating func add<Failure>(
        _ entry: ContentEntry, _ emit: Emit<Failure>
    ) throws(Failure) {
        while true {
            while let last = open.last, open.count > 1, !last.node.holds(entry.offset) { try close(emit) }
            let place = open.count - 1
            if open[place].isInner {
                let level = open[place].node.level - 1
                open.append(OpenNode(node: ContentNode(level: level, holding: entry.offset)))
            } else if open[place].entries.count < ContentNode.entryCountMax {
                open[place].entries.append(entry)
                return
            } else {
                // Never happens at level 0, whose ranges have only 32 offsets.
                let entries = open[place].entries
                open[place].entries = []
                open[place].isInner = true
                for entry in entries { try add(entry, emit) }
            }
        }
    }

    /// Finishes the lowest node.
    private mutating func close<Failure>(_ emit: Emit<Failure>) throws(Failure) {
        let child = try finish(open.removeLast(), emit)
        open[open.count - 1].children.append(child)
    }

    private func finish<Failure>(
        _ node: OpenNode, _ emit: Emit<Failure>
    ) throws(Failure) -> ContentPage.Child {
        let page: ContentPage = node.isInner ? .inner(node.children) : .leaf(node.entries)
        return ContentPage.Child(node: node.node, reference: try emit(node.node, page))
    }

    /// Finishes the tree, and returns its root.
    package mutating func finish<Failure>(_ emit: Emit<Failure>) throws(Failure) -> ContentPage.Child {
        while open.count > 1 { try close(emit) }
        return try finish(open[0], emit)
    }
}
