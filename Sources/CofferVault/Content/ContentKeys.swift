internal import CofferCrypto
package import CofferFormat
package import CofferTrust

/// The content keys of a vault, by epoch.
package final class ContentKeys: Sendable {
    /// The vault.
    package let vault: VaultID
    /// The epoch that new data is sealed under.
    package let current: Epoch
    private let roots: [Epoch: Root]

    private final class Root: Sendable {
        let key: SymmetricKey<ContentRole>
        let pages: SymmetricKey<ContentPageRole>

        init(_ epoch: EpochKey) {
            key = epoch.subkey(ContentRole.self)
            pages = epoch.subkey(ContentPageRole.self)
        }
    }

    /// Derives the content key of each epoch; `nil` without any, or with one of another vault.
    package init?(vault: VaultID, _ keys: [EpochKey]) {
        guard let current = keys.map(\.epoch).max(), keys.allSatisfy({ $0.vault == vault }) else {
            return nil
        }
        self.vault = vault
        self.current = current
        roots = Dictionary(keys.map { ($0.epoch, Root($0)) }, uniquingKeysWith: { first, _ in first })
    }

    private init(_ vault: VaultID, _ current: Epoch, _ roots: [Epoch: Root]) {
        self.vault = vault
        self.current = current
        self.roots = roots
    }

    /// These keys and those of other epochs; what this device could open stays as it is.
    func adding(_ others: ContentKeys) -> ContentKeys {
        ContentKeys(
            vault, max(current, others.current), roots.merging(others.roots) { known, _ in known })
    }

    /// Whether this device has the key of an epoch.
    func has(_ epoch: Epoch) -> Bool { roots[epoch] != nil }

    /// Seals a page of a content's tree in the current epoch; nil if this device does not have that.
    func seal(page: ContentPage, _ node: ContentNode, of origin: ItemID) -> [UInt8]? {
        guard let root = roots[current] else { return nil }
        let (plain, data) = (
            page.bytes, ContentPage.associatedData(vault: vault, origin: origin, node)
        )
        return unsafe RecordCipher.seal(plain.span.bytes, key: root.pages, associated: data.span.bytes)
    }

    /// Opens a page of a content's tree; nil if it is not what was sealed for its place.
    func open(page: [UInt8], _ node: ContentNode, of origin: ItemID, _ epoch: Epoch) -> [UInt8]? {
        guard let root = roots[epoch] else { return nil }
        let data = ContentPage.associatedData(vault: vault, origin: origin, node)
        return unsafe try? RecordCipher.open(
            page.span.bytes, key: root.pages, associated: data.span.bytes)
    }

    /// Turns `key` into that of one item in one epoch; false if this device does not have the epoch.
    func derive(_ key: inout SymmetricKey<ItemRole>, for item: ItemID, _ epoch: Epoch) -> Bool {
        guard let root = roots[epoch] else { return false }
        unsafe key.rederive(from: root.key, context: item.bytes.span.bytes)
        return true
    }
}
