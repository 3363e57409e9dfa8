package import CofferFormat

/// All epochs of a vault that a member can open, from 1 to the newest.
///
/// Each epoch's key seals the one before it, in the link that began the epoch. So the newest key opens all
/// history, and one wrap is enough.
package struct Keyring: Sendable {
    /// Of epoch 1, 2, and so on.
    private let keys: [EpochKey]

    /// The keyring of a vault in its first epoch, as every local vault is.
    package init(first key: EpochKey) {
        precondition(key.epoch == .first)
        keys = [key]
    }

    /// A keyring as it was kept; nil unless it has epoch 1 and all up to its newest.
    package init?(kept keys: [EpochKey]) {
        let sorted = keys.sorted { $0.epoch < $1.epoch }
        guard let first = sorted.first,
            sorted.enumerated().allSatisfy({
                Int($0.element.epoch.number) == $0.offset + 1 && $0.element.vault == first.vault
            })
        else { return nil }
        self.keys = sorted
    }

    /// Opens all epochs up to that of a key, each checked against what the member chain commits to.
    ///
    /// - Parameters:
    ///   - newest: As it came out of a wrap.
    ///   - chain: The vault's.
    ///   - known: A keyring that was opened before: what it has is kept, even if an admin sealed something else
    ///     in its place.
    /// - Throws: `.wrongKey` with the epoch whose key is not the right one; `.otherChain`.
    package init(opening newest: EpochKey, of chain: MemberChain, known: Keyring? = nil) throws(TrustError) {
        guard chain.id == ChainID(newest.vault), known?.current.vault ?? newest.vault == newest.vault else {
            throw .otherChain
        }
        if let known, let old = known[newest.epoch] {
            guard old.isEqual(to: newest) else { throw .wrongKey(newest.epoch) }
            keys = known.keys
            return
        }
        let beginnings = chain.state.beginnings
        var opened: [EpochKey] = []
        var key = newest
        while true {
            let index = Int(key.epoch.number) - 1
            guard beginnings.indices.contains(index), beginnings[index].commitment == key.commitment else {
                throw .wrongKey(key.epoch)
            }
            opened.append(key)
            guard let sealed = beginnings[index].sealedPrevious else { break }
            let previous = Epoch(key.epoch.number - 1)
            if known?[previous] != nil { break }
            do { key = try key.open(previous: sealed) } catch { throw .wrongKey(previous) }
        }
        keys = (known?.keys ?? []) + opened.reversed()
    }

    /// The key that new data is sealed under.
    package var current: EpochKey { keys[keys.count - 1] }

    /// The key of an epoch; nil if the keyring does not have it.
    package subscript(epoch: Epoch) -> EpochKey? {
        let index = Int(epoch.number) - 1
        return keys.indices.contains(index) ? keys[index] : nil
    }

    /// From epoch 1 on.
    package var all: [EpochKey] { keys }
}
