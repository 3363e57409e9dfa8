package import CofferFormat
internal import CofferSystem

/// A change of a vault that did not come through the mount, and must be shown to programs.
///
/// Reported by the code that changes the vault, through `Vault.changeElsewhere`. Changes that programs make
/// through a mount are not reported: the kernel knows them.
package enum VaultChange: Hashable, Sendable {
    /// A name was added, was removed, or leads to another item.
    case entry(Vault.Name)
    /// Attributes of an item other than its content changed, as in stat(2); one for each of its names.
    case attributes(item: Int64, Vault.Name)
    /// Bytes were appended at `from`, the item's old size, and nothing before that changed; one for each of
    /// its names.
    case growth(item: Int64, from: Int64, Vault.Name)
    /// An item lost its last name; follows the `entry` of that name.
    case nameless(item: Int64)
}

/// Shows a vault to programs, and remembers what it has shown: a mount.
///
/// Except for `noteAtOnce` and `knows`, a request of the mount must not call any of this, nor may code under a
/// lock that a request takes, or in a place where a read of the vault may wait for the caller.
package protocol ChangeSink: Sendable {
    /// Announces changes of the vault until `end`: operations of programs in the meantime may refer to the
    /// old state.
    func begin()
    /// Receives changes that are visible in the vault; waits while too many are queued.
    func note(_ changes: [VaultChange], in vault: Vault)
    /// Ends what `begin` began.
    func end()
    /// Receives a change without waiting; may be called under the vault's lock.
    ///
    /// For changes that occur at most once for each request.
    func noteAtOnce(_ change: VaultChange, in vault: Vault)
    /// Whether programs may have an item open; false if they certainly do not.
    ///
    /// Does not wait; may be called under the vault's lock.
    func knows(_ item: Int64) -> Bool
    /// Makes the kernel write to the vault what programs have written to an item, and waits for that.
    func flush(_ item: Int64)
    /// Waits until programs see all reported changes.
    func awaitShown()
}

extension Vault {
    /// A place in the tree.
    package struct Name: Hashable, Sendable {
        /// The directory's number.
        package let parent: Int64
        /// 1 to 255 bytes, without "/" and NUL.
        package let name: [UInt8]

        package init(_ name: [UInt8], in parent: Int64) {
            self.parent = parent
            self.name = name
        }
    }
}

extension Vault {
    /// Sets the sink that shows the vault; nil for none.
    package func setSink(_ sink: (any ChangeSink)?) {
        self.sink.withLock { $0 = sink }
        state.withLock { state in
            state.tree.unseen = UnseenNames()
            state.tree.growing = [:]
            guard let sink else { return state.showAtOnce = nil }
            // The closure is in the vault's own state. A weak reference would make each retain and release of
            // the vault slower.
            state.showAtOnce = { [unowned self] change in sink.noteAtOnce(change, in: self) }
        }
    }

    /// Changes the vault other than through a mount, and shows that to programs.
    ///
    /// Any number of changes is possible; split large numbers, so that others need not wait long. May wait
    /// for programs and for the mount. So a request of the mount must not call it, nor may code under a lock
    /// that a request takes, or in a place where a read of the vault may wait for the caller.
    ///
    /// - Parameter body: Changes the vault, and adds its changes to the list; these count even if it throws.
    package func changeElsewhere<Result>(
        _ body: (inout [VaultChange]) throws(FileSystemError) -> Result
    ) throws(FileSystemError) -> Result {
        let sink = sink.withLock { $0 }
        sink?.begin()
        var changes: [VaultChange] = []
        defer {
            if let sink {
                sink.note(changes, in: self)
                sink.end()
            } else {
                for case .nameless(let item) in changes { release(item) }
            }
        }
        return try body(&changes)
    }

    /// Makes the kernel write to the vault what programs have written to an item.
    ///
    /// Call this before merging another device's change into the item's content, so that both are known. May
    /// wait, like `changeElsewhere`.
    package func flush(_ number: Int64) {
        sink.withLock({ $0 })?.flush(number)
    }

    /// Makes the kernel write to the vault what programs have written to any file.
    ///
    /// May wait, like `changeElsewhere`.
    package func flushAll() throws(FileSystemError) {
        guard let sink = sink.withLock({ $0 }) else { return }
        for number in try files(below: [Self.rootNumber]).sorted() where sink.knows(number) {
            sink.flush(number)
        }
    }

    /// Waits until programs see all changes that did not come through the mount.
    package func awaitShown() {
        sink.withLock({ $0 })?.awaitShown()
    }
}
