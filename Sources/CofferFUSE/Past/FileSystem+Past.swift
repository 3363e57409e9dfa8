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

    /// The hidden directory, if a name that a vault does not have leads to it.
    func hidden(_ name: [UInt8], in parent: Node) throws(FileSystemError) -> (Node, Attributes)? {
        guard name == Node.hiddenName, parent.item == Vault.rootNumber else { return nil }
        return try past.hidden(in: parent.slot)
    }

    /// Runs a change of a name, which may be that of the hidden directory.
    func changing<Result>(
        _ name: [UInt8], in parent: Node, _ body: () throws(FileSystemError) -> Result
    ) throws(FileSystemError) -> Result {
        do throws(FileSystemError) {
            return try body()
        } catch {
            if case .notFound = error, try hidden(name, in: parent) != nil { throw .readOnly }
            throw error
        }
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
