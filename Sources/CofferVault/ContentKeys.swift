internal import CofferCrypto
package import CofferFormat
package import CofferTrust

/// The content keys of a vault, by epoch.
package final class ContentKeys: Sendable {
    /// The vault.
    package let vault: VaultID
    /// The current epoch, which new data is sealed under.
    package let current: Epoch
    private let roots: [Epoch: Root]
    /// Keys of epochs that began on a lost side of a fork of the members; they open existing data and seal
    /// nothing.
    private let lost: [Epoch: [Root]]

    private final class Root: Sendable {
        let key: SymmetricKey<ContentRole>
        let pages: SymmetricKey<ContentPageRole>

        init(_ epoch: EpochKey) {
            key = epoch.subkey(ContentRole.self)
            pages = epoch.subkey(ContentPageRole.self)
        }

        func isEqual(to other: Root) -> Bool { key.bytes.isEqual(to: other.key.bytes) }
    }

    /// Derives the content key of each epoch; nil if there is no key, or one of another vault.
    ///
    /// - Parameter lost: Keys of lost sides of forks.
    package init?(vault: VaultID, _ keys: [EpochKey], lost: [EpochKey] = []) {
        guard let current = keys.map(\.epoch).max(), (keys + lost).allSatisfy({ $0.vault == vault }) else {
            return nil
        }
        self.vault = vault
        self.current = current
        roots = Dictionary(keys.map { ($0.epoch, Root($0)) }, uniquingKeysWith: { first, _ in first })
        self.lost = Dictionary(lost.map { ($0.epoch, [Root($0)]) }, uniquingKeysWith: +)
    }

    private init(_ vault: VaultID, _ current: Epoch, _ roots: [Epoch: Root], _ lost: [Epoch: [Root]]) {
        self.vault = vault
        self.current = current
        self.roots = roots
        self.lost = lost
    }

    /// New keys that replace these, and can still open the data that these can.
    ///
    /// If both sets have different keys of an epoch, or this set has later epochs, the members have taken
    /// another side of a fork. The old keys then open existing data, and seal nothing more.
    func followed(by others: ContentKeys) -> ContentKeys {
        var (roots, lost) = (others.roots, others.lost)
        for (epoch, known) in self.roots.map({ ($0, [$1]) }) + self.lost.map({ ($0, $1) }) {
            for root in known {
                if roots[epoch] == nil, epoch < others.current {
                    roots[epoch] = root
                } else if ([roots[epoch]].compactMap(\.self) + lost[epoch, default: []]).allSatisfy({
                    !$0.isEqual(to: root)
                }) {
                    lost[epoch, default: []].append(root)
                }
            }
        }
        return ContentKeys(vault, others.current, roots, lost)
    }

    /// Whether this device has a key of an epoch.
    func has(_ epoch: Epoch) -> Bool { roots[epoch] != nil || lost[epoch] != nil }

    /// The number of keys that this device has of an epoch; more than one after a fork of the members.
    func count(of epoch: Epoch) -> Int { all(epoch).count }

    /// Whether the members have a key of an epoch; it comes first if there are several.
    func isPresent(_ epoch: Epoch) -> Bool { roots[epoch] != nil }

    /// Whether there are keys of lost sides of forks.
    var hasLost: Bool { !lost.isEmpty }

    /// Whether data of an epoch may be sealed under a key that other members lack.
    func mayBeLost(_ epoch: Epoch) -> Bool { lost[epoch] != nil }

    private func all(_ epoch: Epoch) -> [Root] {
        guard let lost = lost[epoch] else { return roots[epoch].map { [$0] } ?? [] }
        return [roots[epoch]].compactMap(\.self) + lost
    }

    /// Seals a page of a content tree under the current epoch; nil if this device lacks its key.
    func seal(page: ContentPage, _ node: ContentNode, of origin: ItemID) -> [UInt8]? {
        guard let root = roots[current] else { return nil }
        let (plain, data) = (
            page.bytes, ContentPage.associatedData(vault: vault, origin: origin, node)
        )
        return unsafe RecordCipher.seal(plain.span.bytes, key: root.pages, associated: data.span.bytes)
    }

    /// Opens a page of a content tree; nil if it was not sealed for this place.
    func open(page: [UInt8], _ node: ContentNode, of origin: ItemID, _ epoch: Epoch) -> [UInt8]? {
        let data = ContentPage.associatedData(vault: vault, origin: origin, node)
        for root in all(epoch) {
            let plain = unsafe try? RecordCipher.open(
                page.span.bytes, key: root.pages, associated: data.span.bytes)
            if let plain { return plain }
        }
        return nil
    }

    /// Sets `key` to the key of one item in one epoch; false if this device lacks the epoch.
    ///
    /// - Parameter choice: The index of the key among those of the epoch.
    func derive(
        _ key: inout SymmetricKey<ItemRole>, for item: ItemID, _ epoch: Epoch, choice: Int = 0
    ) -> Bool {
        let root: Root?
        if choice == 0, let present = roots[epoch] {
            root = present
        } else {
            let all = all(epoch)
            root = all.indices.contains(choice) ? all[choice] : nil
        }
        guard let root else { return false }
        unsafe key.rederive(from: root.key, context: item.bytes.span.bytes)
        return true
    }
}
