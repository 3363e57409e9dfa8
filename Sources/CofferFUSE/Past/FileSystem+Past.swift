internal import CofferFormat
internal import CofferVault

// Where the past of vaults differs from their present.
extension FileSystem {
    /// Whether a node belongs to the past of a vault.
    @inline(__always)
    func isPast(_ node: Node) -> Bool { node.mayBePast && isCertainlyPast(node) }

    private func isCertainlyPast(_ node: Node) -> Bool {
        node.isAboveStates || root.vault(slot: node.slot) == nil
    }

    /// Whether the kernel must not keep that a name does not exist, since it may exist later without a change of the
    /// directory.
    func mayAppear(_ name: [UInt8], in parent: Node) -> Bool {
        parent.isAboveStates || parent.item == Vault.rootNumber && name == Node.hiddenName
    }

    /// The hidden directory, if a name leads to it.
    func hidden(_ name: [UInt8], in parent: Node) throws(FileSystemError) -> (Node, Attributes)? {
        guard name == Node.hiddenName, parent.item == Vault.rootNumber, !parent.isRoot else { return nil }
        return try past.hidden(in: parent.slot)
    }

    /// Refuses the change of a name that leads to the hidden directory.
    func checkNotHidden(_ name: [UInt8], in parent: Node) throws(FileSystemError) {
        if try hidden(name, in: parent) != nil { throw .readOnly }
    }

    /// Whether a listing leaves a name out: that of the hidden directory, whatever the vault has under it.
    func isHidden(_ name: [UInt8], in parent: Node) throws(FileSystemError) -> Bool {
        guard name == Node.hiddenName else { return false }
        return try hidden(name, in: parent) != nil
    }

    /// The generation of a node, which the kernel is about to see.
    func generation(of node: Node, _ spoilt: SpoiltFiles) -> UInt64 {
        guard node.mayBePast, let first = past.generation(of: node.slot) else {
            return StatusRecord.generation
        }
        return first + spoilt.changes(of: node)
    }

    func readLink(_ node: Node) throws(FileSystemError) -> [UInt8] {
        isPast(node) ? try past.readLink(node) : try vault(node).readLink(node.item)
    }

    func extendedAttribute(_ name: [UInt8], of node: Node) throws(FileSystemError) -> [UInt8] {
        guard isPast(node) else { return try vault(node).extendedAttribute(name, of: node.item) }
        guard let found = try past.extendedAttributes(of: node).first(where: { $0.name == name }) else {
            throw .attributeNotFound
        }
        return found.value
    }

    func extendedAttributeNames(of node: Node) throws(FileSystemError) -> [[UInt8]] {
        guard isPast(node) else { return try vault(node).extendedAttributeNames(of: node.item) }
        return try past.extendedAttributes(of: node).map(\.name)
    }
}
