package import CofferFormat

/// All epochs of a vault that a member can open, from 1 to the newest.
///
/// Each epoch's key seals the key before it, in the link that began the epoch. So the newest key opens all
/// history, and one wrap is enough.
package struct Keyring: Sendable {
    /// The keys of epoch 1, 2, and so on.
    private let keys: [EpochKey]
    /// Keys of epochs that began on the lost side of a fork of the member chain.
    ///
    /// They open data on this device that is sealed with them, and have no other effect.
    package let lost: [EpochKey]

    /// Makes the keyring of a vault in its first epoch, as every local vault is.
    package init(first key: EpochKey) {
        precondition(key.epoch == .first)
        keys = [key]
        lost = []
    }

    /// Restores a stored keyring; nil unless it has epoch 1 and all later ones up to its newest.
    package init?(kept keys: [EpochKey], lost: [EpochKey] = []) {
        let sorted = keys.sorted { $0.epoch < $1.epoch }
        guard let first = sorted.first,
            sorted.enumerated().allSatisfy({
                Int($0.element.epoch.number) == $0.offset + 1 && $0.element.vault == first.vault
            })
        else { return nil }
        self.keys = sorted
        self.lost = lost
    }

    /// Opens all epochs up to that of a key, and checks each key against the commitment in the member chain.
    ///
    /// - Parameters:
    ///   - newest: The key from a wrap.
    ///   - chain: The vault's member chain.
    ///   - known: A keyring that was opened before. Its keys stay, even if an admin sealed something other
    ///     than a previous key. Those that the chain does not have, because another side of a fork counts,
    ///     become lost keys.
    /// - Throws: `.wrongKey` with the epoch whose key is wrong; `.otherChain`.
    package init(opening newest: EpochKey, of chain: MemberChain, known: Keyring? = nil) throws(TrustError) {
        guard chain.id == ChainID(newest.vault), known?.current.vault ?? newest.vault == newest.vault else {
            throw .otherChain
        }
        let beginnings = chain.state.beginnings
        let kept = known?.keys.enumerated().prefix { index, key in
            beginnings.indices.contains(index) && beginnings[index].commitment == key.commitment
        }.map(\.element)
        var keys = kept ?? []
        if keys.count >= Int(newest.epoch.number) {
            let same = keys[Int(newest.epoch.number) - 1]
            guard same.isEqual(to: newest) else { throw .wrongKey(newest.epoch) }
        } else {
            keys += try Self.opened(from: newest, downTo: keys.count, beginnings)
        }
        self.keys = keys
        let others = (known?.keys.dropFirst(kept?.count ?? 0) ?? []) + (known?.lost ?? [])
        lost = others.filter { other in !keys.contains { $0.isEqual(to: other) } }
    }

    /// Opens the keys of all epochs after the first `count`, each with the key after it.
    private static func opened(
        from newest: EpochKey, downTo count: Int, _ beginnings: [MemberLedger.Beginning]
    ) throws(TrustError) -> [EpochKey] {
        var opened: [EpochKey] = []
        var key = newest
        while true {
            let index = Int(key.epoch.number) - 1
            guard beginnings.indices.contains(index), beginnings[index].commitment == key.commitment else {
                throw .wrongKey(key.epoch)
            }
            opened.append(key)
            guard index > count, let sealed = beginnings[index].sealedPrevious else { break }
            do { key = try key.open(previous: sealed) } catch { throw .wrongKey(Epoch(key.epoch.number - 1)) }
        }
        return opened.reversed()
    }

    /// The key under which new data is sealed.
    package var current: EpochKey { keys[keys.count - 1] }

    /// The key of an epoch; nil if the keyring does not have it.
    package subscript(epoch: Epoch) -> EpochKey? {
        let index = Int(epoch.number) - 1
        return keys.indices.contains(index) ? keys[index] : nil
    }

    /// All keys, from epoch 1 on.
    package var all: [EpochKey] { keys }
}
