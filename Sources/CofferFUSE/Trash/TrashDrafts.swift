internal import CofferFormat
internal import CofferSystem
internal import CofferVault

/// Info files that programs have written for items that are not in the trash yet.
///
/// A program writes the info file first, which reserves the name. Which vault it belongs to shows only when the item
/// comes. Until then the text is in memory alone, since it names a file, and no other vault is to learn of it.
final class TrashDrafts: Sendable {
    /// The largest number of drafts; a program that ends halfway leaves one.
    private static let countMax = 1024

    private struct Draft {
        var bytes: [UInt8] = []
        var mode: UInt32
        var modified: Int64
        var changed: Int64
        var hasName = true

        mutating func resize(to count: Int) {
            if count < bytes.count {
                bytes.removeLast(bytes.count - count)
            } else {
                bytes.append(contentsOf: repeatElement(0, count: count - bytes.count))
            }
        }
    }

    private struct State {
        var names: [[UInt8]: Node] = [:]
        /// What the kernel may know, also without a name.
        var drafts: [Node: Draft] = [:]
        /// The number of the next one: those that an earlier process of this mount gave do not come again.
        var next = Clock.realTime / 1_000_000

        mutating func takeName(_ name: [UInt8]) -> Node? {
            guard let node = names.removeValue(forKey: name) else { return nil }
            drafts[node]?.hasName = false
            return node
        }
    }

    private let owner: (user: UInt32, group: UInt32)
    private let state = RankedMutex(State(), rank: .leaf)

    /// - Parameter owner: Of all drafts.
    init(owner: (user: UInt32, group: UInt32)) {
        self.owner = owner
    }

    /// The names, in the order in which they were made.
    var names: [(name: [UInt8], node: Node)] {
        state.withLock { state in
            state.names.map { ($0.key, $0.value) }.sorted { $0.node.item < $1.node.item }
        }
    }

    func node(named name: [UInt8]) -> Node? { state.withLock { $0.names[name] } }

    /// Makes an empty draft.
    ///
    /// - Throws: `.alreadyExists`, `.noSpace` if there are too many.
    func make(_ name: [UInt8], mode: UInt32) throws(FileSystemError) -> Node {
        try state.withLock { state throws(FileSystemError) in
            guard state.names[name] == nil else { throw .alreadyExists }
            guard state.drafts.count < Self.countMax else { throw .noSpace }
            let node = Node.draft(state.next)
            state.next += 1
            let now = Clock.fileTime
            state.drafts[node] = Draft(mode: mode & ModeBits.permissions, modified: now, changed: now)
            state.names[name] = node
            return node
        }
    }

    /// Renames a draft, in the place of another with the new name if `replaces`.
    ///
    /// - Parameter isKnown: Whether the kernel knows a draft.
    func rename(
        _ name: [UInt8], to newName: [UInt8], replaces: Bool, isKnown: (Node) -> Bool
    ) throws(FileSystemError) {
        if name == newName { return }
        let replaced = try state.withLock { state throws(FileSystemError) in
            guard let node = state.names[name] else { throw .notFound }
            guard replaces || state.names[newName] == nil else { throw .alreadyExists }
            let replaced = state.takeName(newName)
            state.names[name] = nil
            state.names[newName] = node
            return replaced
        }
        if let replaced, !isKnown(replaced) { forget(replaced) }
    }

    /// Takes a name away; the text stays for as long as the kernel knows the draft.
    ///
    /// - Parameter isKnown: Whether the kernel knows a draft.
    /// - Returns: Whether there was one.
    @discardableResult
    func remove(_ name: [UInt8], isKnown: (Node) -> Bool) -> Bool {
        guard let node = state.withLock({ $0.takeName(name) }) else { return false }
        if !isKnown(node) { forget(node) }
        return true
    }

    /// Drops a draft that the kernel does not know any more, unless it has a name.
    func forget(_ node: Node) {
        guard node.isDraft else { return }
        state.withLock { state in
            if state.drafts[node]?.hasName == false { state.drafts[node] = nil }
        }
    }

    func attributes(of node: Node) throws(FileSystemError) -> Attributes {
        try state.withLock { state throws(FileSystemError) in
            guard let draft = state.drafts[node] else { throw .stale }
            return attributes(of: draft, node)
        }
    }

    func text(of node: Node) throws(FileSystemError) -> [UInt8] {
        try state.withLock { state throws(FileSystemError) in
            guard let draft = state.drafts[node] else { throw .stale }
            return draft.bytes
        }
    }

    func write(_ bytes: [UInt8], to node: Node, at offset: Int64) throws(FileSystemError) {
        try change(node) { draft throws(FileSystemError) in
            let limit = Int64(TrashInfo.byteCountMax)
            guard offset <= limit - Int64(bytes.count) else { throw .fileTooLarge }
            let range = Int(offset)..<Int(offset) + bytes.count
            draft.resize(to: max(draft.bytes.count, range.upperBound))
            draft.bytes.replaceSubrange(range, with: bytes)
        }
    }

    /// Changes all but the owner.
    func set(_ changes: AttributeChanges, of node: Node) throws(FileSystemError) -> Attributes {
        guard changes.user ?? owner.user == owner.user, changes.group ?? owner.group == owner.group else {
            throw .notPermitted
        }
        try change(node) { draft throws(FileSystemError) in
            if let size = changes.size {
                guard size <= Int64(TrashInfo.byteCountMax) else { throw .fileTooLarge }
                draft.resize(to: Int(size))
            }
            if let mode = changes.mode { draft.mode = mode & ModeBits.permissions }
            if case .at(let time)? = changes.modified { draft.modified = time }
        }
        return try attributes(of: node)
    }

    private func change(
        _ node: Node, _ body: (inout Draft) throws(FileSystemError) -> Void
    ) throws(FileSystemError) {
        try state.withLock { state throws(FileSystemError) in
            guard var draft = state.drafts[node] else { throw .stale }
            try body(&draft)
            draft.changed = Clock.fileTime
            state.drafts[node] = draft
        }
    }

    private func attributes(of draft: Draft, _ node: Node) -> Attributes {
        var attributes = Attributes(root: 0, user: owner.user, group: owner.group, changed: draft.changed)
        attributes.number = node.item
        attributes.mode = FileType.regular.modeBits | draft.mode
        attributes.links = draft.hasName ? 1 : 0
        attributes.size = Int64(draft.bytes.count)
        attributes.modified = draft.modified
        return attributes
    }
}
