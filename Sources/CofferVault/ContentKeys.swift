package import CofferCrypto
package import CofferFormat

/// The content keys of a vault, by epoch.
package final class ContentKeys: Sendable {
    /// The epoch that new data is sealed under.
    package let current: Epoch
    private let roots: [Epoch: Root]
    private let vault: VaultID

    private final class Root: Sendable {
        let key: SymmetricKey<ContentRole>
        init(_ key: consuming SymmetricKey<ContentRole>) { self.key = key }
    }

    /// A vault key and its epoch.
    package final class VaultKey: Sendable {
        /// The epoch that the key is of.
        package let epoch: Epoch
        /// What the members share in that epoch.
        package let key: SymmetricKey<VaultRole>

        package init(epoch: Epoch, key: consuming SymmetricKey<VaultRole>) {
            self.epoch = epoch
            self.key = key
        }
    }

    /// Derives the content key of each epoch; `nil` without any.
    package init?(vault: VaultID, _ keys: [VaultKey]) {
        guard let current = keys.map(\.epoch).max() else { return nil }
        self.vault = vault
        self.current = current
        var roots: [Epoch: Root] = [:]
        for key in keys {
            var context = ByteWriter()
            context.identifier(vault)
            context.number(key.epoch.number)
            let bytes = context.finish()
            roots[key.epoch] = unsafe Root(key.key.derive(ContentRole.self, context: bytes.span.bytes))
        }
        self.roots = roots
    }

    /// Whether this device has the key of an epoch.
    func has(_ epoch: Epoch) -> Bool { roots[epoch] != nil }

    /// Turns `key` into that of one item in one epoch; false if this device does not have the epoch.
    func derive(_ key: inout SymmetricKey<ItemRole>, for item: ItemID, _ epoch: Epoch) -> Bool {
        guard let root = roots[epoch] else { return false }
        unsafe key.rederive(from: root.key, context: item.bytes.span.bytes)
        return true
    }
}
