package import CofferCrypto
package import CofferFormat

/// A role of a key that is derived from an epoch's key.
package protocol EpochSubkeyRole: KeyRole {}

extension ContentRole: EpochSubkeyRole {}
extension ContentPageRole: EpochSubkeyRole {}
extension MetadataRole: EpochSubkeyRole {}
extension LogRole: EpochSubkeyRole {}
extension CheckpointRole: EpochSubkeyRole {}
extension StateHashRole: EpochSubkeyRole {}
extension PreviousEpochRole: EpochSubkeyRole {}
extension CommitmentRole: EpochSubkeyRole {}

/// The key of one epoch of one vault, which its members share.
package final class EpochKey: Sendable {
    /// The vault.
    package let vault: VaultID
    /// The epoch.
    package let epoch: Epoch
    /// The key; it seals nothing itself.
    package let key: SymmetricKey<VaultRole>

    /// Takes an existing key; that of a local vault becomes the key of epoch 1.
    package init(vault: VaultID, epoch: Epoch, key: consuming SymmetricKey<VaultRole>) {
        self.vault = vault
        self.epoch = epoch
        self.key = key
    }

    /// Derives the key for one purpose.
    ///
    /// The context is the vault id and the epoch (docs/format.md, "Key derivation").
    package func subkey<Role: EpochSubkeyRole>(_ role: Role.Type) -> SymmetricKey<Role> {
        let context = context
        return unsafe key.derive(role, context: context.span.bytes)
    }

    /// The value that links publish to distinguish this key from any other.
    package var commitment: EpochCommitment {
        EpochCommitment(subkey(CommitmentRole.self).published)
    }

    /// Whether both are the same key of the same epoch; compares in constant time.
    package func isEqual(to other: EpochKey) -> Bool {
        vault == other.vault && epoch == other.epoch && key.bytes.isEqual(to: other.key.bytes)
    }

    /// Seals the key of the epoch before: a sealed record of 72 bytes.
    func seal(previous: EpochKey, nonce: Nonce = .random()) -> [UInt8] {
        let sealing = subkey(PreviousEpochRole.self)
        let context = context
        return previous.key.bytes.withBytes { secret in
            unsafe RecordCipher.seal(
                secret, key: sealing, nonce: nonce, associated: context.span.bytes)
        }
    }

    /// Opens the key of the epoch before.
    ///
    /// - Throws: `.authenticationFailed`.
    func open(previous sealed: [UInt8]) throws(CryptoError) -> EpochKey {
        let opening = subkey(PreviousEpochRole.self)
        let context = context
        let secret = try unsafe RecordCipher.openSecret(
            sealed.span.bytes, key: opening, associated: context.span.bytes)
        guard secret.count == SymmetricKey<VaultRole>.byteCount, epoch > .first else {
            throw .authenticationFailed
        }
        return EpochKey(vault: vault, epoch: Epoch(epoch.number - 1), key: SymmetricKey(secret))
    }

    /// The vault id and the epoch: 20 bytes.
    private var context: [UInt8] {
        var writer = ByteWriter(capacity: 20)
        writer.identifier(vault)
        writer.number(epoch.number)
        return writer.finish()
    }
}
