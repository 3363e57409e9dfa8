internal import CofferFormat
internal import CofferSystem
internal import CofferVault

// Requests that need pages of an index that are not in memory (docs/adr/0042-absent-pages.md).
extension Session {
    /// Performs a request; if it would have to wait for a page of an index, leaves it, whole, to a thread that may wait.
    ///
    /// - Parameters:
    ///   - node: The node that the request is about, if it may be one of the trash, or the order matters.
    ///   - isOrdered: Whether requests about the node must not overtake each other, although the kernel sends them
    ///     without waiting.
    ///   - body: Answers the request. It ends with `Reply.failure`, before it has changed anything, if a page is
    ///     absent, and runs again then.
    func perform(
        _ request: HeldRequest, about node: Node? = nil, isOrdered: Bool = false,
        _ body: @escaping @Sendable (consuming Reply) -> Void
    ) {
        if let node, node.isTrash { return performInTrash(request, body) }
        let ordered = isOrdered ? node : nil
        let perform: @Sendable () -> Void = { if let reply = request.reply { body(reply) } }
        if let ordered, waiting.isWaiting(for: ordered) {
            return waiting.perform(inOrderOf: ordered, perform)
        }
        if !LeavingWaits.perform(perform) { waiting.perform(inOrderOf: ordered, perform) }
    }

    /// Performs a request that changes names in a vault.
    ///
    /// It runs at once; or, while an incoming change holds the vault's names, on a thread that may wait for them; or, if
    /// it needs a page of the index, on a thread that may wait for that.
    ///
    /// - Parameter body: As for `perform`.
    func changeNames(
        in node: Node, _ request: HeldRequest, _ body: @escaping @Sendable (consuming Reply) -> Void
    ) {
        if node.isTrash { return performInTrash(request, body) }
        let perform: @Sendable () -> Void = {
            if let reply = request.reply { body(reply) }
        }
        guard !node.isRoot, let vault = fileSystem.root.vault(slot: node.slot)?.vault else {
            return perform()
        }
        var isDone = true
        let isAllowed = vault.performUnlessNamesAreHeld { isDone = LeavingWaits.perform(perform) }
        if isAllowed, isDone { return }
        let performOnceAllowed: @Sendable () -> Void = { [self] in
            if vault.performUnlessNamesAreHeld(perform) { return }
            // If there is no thread, this one waits.
            if !namesThread.enqueue(perform) { perform() }
        }
        if isAllowed { waiting.perform(performOnceAllowed) } else { performOnceAllowed() }
    }
}
