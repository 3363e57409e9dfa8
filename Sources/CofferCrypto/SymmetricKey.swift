internal import CofferSystem

/// What a key is for.
///
/// No key has two uses: its role is part of its type and of its derivation.
package protocol KeyRole: Sendable {
    /// The purpose string of docs/format.md, section "Key derivation".
    static var purpose: String { get }
}

/// A key that is not secret: it identifies the key from which it is derived, or proves something about it.
package protocol PublishedRole: KeyRole {}

/// Derived by Argon2id; parent of the next two.
package enum UnlockRole: KeyRole { package static let purpose = "unlock" }
/// Wraps the profile key.
package enum ProfileWrapRole: KeyRole { package static let purpose = "profile wrap" }
/// Detects a wrong passphrase, without touching anything else.
package enum VerifierRole: KeyRole { package static let purpose = "verifier" }
/// Hides the hint of the passphrase; not a secret.
package enum HintRole: KeyRole { package static let purpose = "hint" }
/// Random; parent of the key of the profile's body.
package enum ProfileRole: KeyRole { package static let purpose = "profile" }
/// Seals the body of the profile file.
package enum ProfileBodyRole: KeyRole { package static let purpose = "profile body" }
/// Seals the body of a profile backup.
package enum BackupBodyRole: KeyRole { package static let purpose = "backup body" }
/// Random, one for each vault and device; parent of the keys of the local index.
package enum StoreRole: KeyRole { package static let purpose = "store" }
/// Seals the pages of an index.
package enum IndexPageRole: KeyRole { package static let purpose = "index page" }
/// Seals the records of an intent log.
package enum IntentRole: KeyRole { package static let purpose = "intents" }
/// Keys the row digest: a multiset hash over the rows of an index.
package enum RowDigestRole: KeyRole { package static let purpose = "row digest" }
/// Keys the state hash: a multiset hash over the tree that the facts of a vault show.
package enum StateHashRole: KeyRole { package static let purpose = "state hash" }
/// Random, one for each vault and epoch; shared by the members.
package enum VaultRole: KeyRole { package static let purpose = "vault" }
/// Parent of the keys of all contents of one epoch.
package enum ContentRole: KeyRole { package static let purpose = "content" }
/// Seals the blocks of one item in one epoch.
package enum ItemRole: KeyRole { package static let purpose = "item" }
/// Seals the pages of contents' trees in one epoch.
package enum ContentPageRole: KeyRole { package static let purpose = "content page" }

/// Reserved for names and attributes of one epoch; seals nothing yet.
package enum MetadataRole: KeyRole { package static let purpose = "metadata" }
/// Seals the commits of one epoch.
package enum LogRole: KeyRole { package static let purpose = "log" }
/// Seals the checkpoints of one epoch.
package enum CheckpointRole: KeyRole { package static let purpose = "checkpoint" }
/// Seals the key of the epoch before.
package enum PreviousEpochRole: KeyRole { package static let purpose = "previous epoch" }
/// Distinguishes the key of an epoch from any other; published.
package enum CommitmentRole: PublishedRole { package static let purpose = "commitment" }
/// Derived from two key agreements; seals the key of an epoch for one member.
package enum WrapRole: KeyRole { package static let purpose = "wrap 1" }
/// Random, one for each invite; held by the invited person until they are a member.
package enum InviteRole: KeyRole { package static let purpose = "invite" }
/// Names an invite; published.
package enum InviteIDRole: PublishedRole { package static let purpose = "invite id" }
/// Seals join requests.
package enum JoinRequestRole: KeyRole { package static let purpose = "join request" }
/// Seals the reason why an invite admits nobody.
package enum JoinRefusalRole: KeyRole { package static let purpose = "join refusal" }
/// 128 random bits and as many zeros, printed on paper as words; parent of the next three.
package enum RecoveryRole: KeyRole { package static let purpose = "recovery" }
/// Detects a mistake in the words; printed with them, and stored nowhere.
package enum RecoveryChecksumRole: PublishedRole { package static let purpose = "recovery checksum" }
/// Names a recovery key of one profile; published.
package enum RecoveryIDRole: PublishedRole { package static let purpose = "recovery id" }
/// Wraps the profile key for a recovery key.
package enum RecoveryWrapRole: KeyRole { package static let purpose = "recovery wrap" }

/// Random, one for each export; parent of the next.
package enum ExportRole: KeyRole { package static let purpose = "export" }
/// Seals the pieces of an export.
package enum ExportPieceRole: KeyRole { package static let purpose = "export piece" }
/// Derived from an unlock key; seals the key of an export.
package enum ExportPassphraseRole: KeyRole { package static let purpose = "export passphrase" }
/// Derived from a key agreement; seals the key of an export for one recipient.
package enum ExportRecipientRole: KeyRole { package static let purpose = "export recipient" }

/// Random at first, shared by the devices of a person; the parent of one transient key, and of the next seed.
package enum TransientSeedRole: KeyRole { package static let purpose = "transient seed" }
/// The private half of a transient key.
package enum TransientSecretRole: KeyRole { package static let purpose = "transient secret" }
/// Names a transient key; published.
package enum TransientIDRole: PublishedRole { package static let purpose = "transient id" }

/// A 256-bit key with one role.
package struct SymmetricKey<Role: KeyRole>: ~Copyable, Sendable {
    /// The size of every symmetric key, in bytes.
    package static var byteCount: Int { 32 }

    /// The 32 bytes of the key.
    package private(set) var bytes: SecretBytes

    /// Takes ownership of 32 secret bytes.
    package init(_ bytes: consuming SecretBytes) {
        precondition(bytes.count == Self.byteCount)
        self.bytes = bytes
    }

    /// Makes a random key.
    package static func random() -> SymmetricKey<Role> {
        SymmetricKey(SecretBytes.random(count: byteCount))
    }

    /// Derives the subkey for another role: keyed BLAKE2b-256 of "coffer/1/", the purpose, a zero byte, and
    /// `context`.
    ///
    /// - Parameter context: The ids that the subkey belongs to; of a fixed length for each role.
    package func derive<Subrole: KeyRole>(
        _ role: Subrole.Type, context: RawSpan
    ) -> SymmetricKey<Subrole> {
        let input = Self.derivationInput(role, context)
        return unsafe SymmetricKey<Subrole>(Blake2b.secret(input.span.bytes, key: bytes))
    }

    /// Replaces this key by the subkey of `parent` for this role, in the same memory.
    package mutating func rederive<Parent: KeyRole>(
        from parent: borrowing SymmetricKey<Parent>, context: RawSpan
    ) {
        let input = Self.derivationInput(Role.self, context)
        bytes.overwrite { output in
            parent.bytes.withBytes { key in
                unsafe Blake2b.hash(input.span.bytes, keyBytes: key, into: &output)
            }
        }
    }

    /// Makes a key of zeros, for `rederive`.
    package static func zero() -> SymmetricKey<Role> {
        SymmetricKey(
            SecretBytes(count: byteCount) { (bytes: inout MutableRawSpan) throws(Never) in bytes.zero() })
    }

    /// Overwrites the key with zeros, in the same memory.
    package mutating func forget() {
        bytes.overwrite { $0.zero() }
    }

    private static func derivationInput<Subrole: KeyRole>(_ role: Subrole.Type, _ context: RawSpan) -> [UInt8]
    {
        var input: [UInt8] = []
        input.reserveCapacity(64)
        input.append(contentsOf: "coffer/1/".utf8)
        input.append(contentsOf: Subrole.purpose.utf8)
        input.append(0)
        // SAFETY: the bytes are copied during the call.
        unsafe context.withUnsafeBytes { unsafe input.append(contentsOf: $0) }
        return input
    }

    /// Copies the key, for another thread or object.
    package func duplicate() -> SymmetricKey<Role> {
        SymmetricKey(bytes.withBytes { SecretBytes(copying: $0) })
    }
}

extension SymmetricKey where Role: PublishedRole {
    /// The 32 bytes, which may be published.
    package var published: [UInt8] { bytes.withBytes { $0.array } }
}
