internal import CofferSystem

/// A change of a vault that came from elsewhere, as programs that look at the vault have to learn of it.
///
/// Told by who changes the vault, by `Vault.changeElsewhere`. What programs change through a mount needs no
/// word: the kernel knows.
package enum VaultChange: Hashable, Sendable {
    /// A name came, went, or leads to another item.
    case entry(Vault.Name)
    /// What stat(2) tells of an item changed, but its content; one for each of its names.
    case attributes(item: Int64, Vault.Name)
    /// Bytes were added behind `size`, which was the item's size, and nothing before it changed; one for each
    /// of its names.
    case growth(item: Int64, from: Int64, Vault.Name)
    /// An item lost its last name; comes behind the `entry` of that name.
    case nameless(item: Int64)
}

/// Who shows a vault to programs, and remembers what it has shown: a mount.
///
/// But for `noteAtOnce`, nothing here is to be called by a request of the mount, nor under a lock that one
/// takes, nor where a read of the vault may wait for the caller.
package protocol ChangeSink: Sendable {
    /// Says that the vault is about to change, until `end`: what programs do meanwhile may mean what they were
    /// shown before.
    func begin()
    /// Takes in changes that can be seen in the vault; waits while too many are on their way.
    func note(_ changes: [VaultChange], in vault: Vault)
    /// Ends what `begin` began.
    func end()
    /// Takes in a change without waiting; may be called under the vault's lock.
    ///
    /// For what happens at most once for each request.
    func noteAtOnce(_ change: VaultChange, in vault: Vault)
    /// Whether programs may have an item open; false if they surely have not.
    func knows(_ item: Int64) -> Bool
    /// Has what programs have written to an item come to the vault, as far as it is still on its way, and waits
    /// for that.
    func flush(_ item: Int64)
    /// Waits until programs see all that was noted.
    func awaitShown()
}

extension Vault {
    /// Says who shows the vault; nil for nobody.
    package func setSink(_ sink: (any ChangeSink)?) {
        self.sink.withLock { $0 = sink }
    }

    /// Changes the vault from elsewhere than a mount, and has programs see that.
    ///
    /// Any number of changes; large numbers are better split, as others wait for none. May wait, for programs
    /// and for the mount, so it is not to be called by a request of the mount, nor under a lock that one takes,
    /// nor where a read of the vault may wait for the caller.
    ///
    /// - Parameter body: Changes the vault, and adds what it changed; what it has added counts even if it throws.
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

    /// Has what programs have written to an item come into the vault.
    ///
    /// To be called before a change from elsewhere is merged into the item's content, so that both are known.
    /// May wait, as `changeElsewhere`.
    package func flush(_ number: Int64) {
        sink.withLock({ $0 })?.flush(number)
    }

    /// Has what programs have written to any file come to the vault.
    ///
    /// May wait, as `changeElsewhere`.
    package func flushAll() throws(FileSystemError) {
        guard let sink = sink.withLock({ $0 }) else { return }
        for number in try files(below: [Self.rootNumber]).sorted() where sink.knows(number) {
            sink.flush(number)
        }
    }

    /// Waits until programs see all that was changed from elsewhere.
    package func awaitShown() {
        sink.withLock({ $0 })?.awaitShown()
    }
}
