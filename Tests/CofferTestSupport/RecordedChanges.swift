internal import CofferSystem
package import CofferVault

/// A sink that only records changes.
///
/// No program uses items without a name, so they are released at once.
package final class RecordedChanges: ChangeSink {
    private let all = Condition<[VaultChange]>([])
    /// As in a mount, a lock that comes last: nobody who asks may hold another one that comes last.
    private let isInUse: RankedMutex<Bool>
    private let releases: Bool
    private let onFlush: @Sendable (Int64) -> Void

    /// - Parameters:
    ///   - isInUse: Whether programs may have items open.
    ///   - releases: Whether items that have no name any more are released.
    ///   - onFlush: Called with the item that the kernel is to write back.
    package init(
        isInUse: Bool = true, releases: Bool = true, onFlush: @escaping @Sendable (Int64) -> Void = { _ in }
    ) {
        self.isInUse = RankedMutex(isInUse, rank: .leaf)
        self.releases = releases
        self.onFlush = onFlush
    }

    /// The changes since the last call.
    package func take() -> [VaultChange] {
        all.withLock { all in
            defer { all = [] }
            return all
        }
    }

    package func begin() {}

    package func note(_ changes: [VaultChange], in vault: Vault) {
        all.withLock { $0 += changes }
        guard releases else { return }
        for case .nameless(let item) in changes { vault.release(item) }
    }

    package func end() {}

    package func noteAtOnce(_ change: VaultChange, in vault: Vault) {
        all.withLock { $0.append(change) }
    }

    package func knows(_ item: Int64) -> Bool { isInUse.withLock { $0 } }
    package func flush(_ item: Int64) { onFlush(item) }
    package func awaitShown() {}
}
