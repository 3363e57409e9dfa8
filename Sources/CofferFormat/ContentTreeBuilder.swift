/// Cuts the entries of an item into pages, one after the other in the order of their offsets.
///
/// The tree depends on the entries alone: a node whose range has up to 32 of them is a leaf, any other has
/// a child for each sixteenth of its range in which entries begin; the root is the lowest node from offset
/// 0 on that holds them all. Keeps no more than one path of the tree in memory.
package struct ContentTreeBuilder {
    /// Takes a finished page, children before parents, and says where it stands.
    package typealias Emit<Failure: Error> =
        (ContentNode, ContentPage) throws(Failure) -> PageReference

    private struct OpenNode {
        let node: ContentNode
        var entries: [ContentEntry] = []
        /// Those that are finished.
        var children: [ContentPage.Child] = []
        /// Whether it has too many entries for a leaf.
        var isInner = false
    }

    private var open: [OpenNode]

    /// - Parameter last: The offset of the last entry.
    package init(lastOffset last: Int64) {
        open = [OpenNode(node: .root(holding: last))]
    }

    /// Takes the next entry, which begins behind all before and not behind the last offset.
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
                // Not at level 0: its ranges have room for the offsets of 32 entries.
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

    /// Finishes the tree.
    ///
    /// - Returns: Its root.
    package mutating func finish<Failure>(_ emit: Emit<Failure>) throws(Failure) -> ContentPage.Child {
        while open.count > 1 { try close(emit) }
        return try finish(open[0], emit)
    }
}
