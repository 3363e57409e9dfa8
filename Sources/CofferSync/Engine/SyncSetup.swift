package import CofferFormat
package import CofferTrust

/// The vault's keys of this device's user; where they are kept is not for sync to know.
package protocol VaultKeys: Sendable {
    /// Signs the commits of this device.
    var author: RecordAuthor { get }
    /// The keys that were opened before; nil for none.
    func keyring() async -> Keyring?
    /// Opens all keys with a wrap for this user, and keeps them.
    ///
    /// - Parameter wraps: The set that `chain.wraps(for:)` names.
    func open(_ wraps: WrapSet, of chain: MemberChain, known: Keyring?) async throws(TrustError) -> Keyring
}

/// Whose vault on which device is synced, and how often what is done.
package struct SyncSetup: Sendable {
    /// The vault.
    package let vault: VaultID
    /// The vault's root directory.
    package let root: ItemID
    /// This device's log in the vault; another one once nothing that is added to it counts any more.
    package internal(set) var log: LogID
    /// What user and device are called.
    package let introduction: LogIntroduction
    /// The vault's keys.
    package let keys: any VaultKeys
    /// The device's clock, in milliseconds since 1970.
    package let milliseconds: @Sendable () -> UInt64
    /// After how many commits a checkpoint is made.
    package var commitsPerCheckpoint: UInt64 = 1000
    /// The most logs that are applied: in all, and of one author on its own word.
    package var logCountMax = TrustLimits.logCountMax, authorLogCountMax = TrustLimits.authorLogCountMax
    /// Bytes of commits that may wait for others.
    package var waitingByteCountMax = 32 << 20
    /// How many rounds a remote may show less than it did before anybody is told.
    package var staleRoundsMax = 3
    /// The user's own card, with its newest transient key; nil as long as there is none.
    package var card: @Sendable () async -> IdentityCard? = { nil }
    /// The id of a new log of this device, which is kept from then on; nil if it cannot be kept.
    package var newLog: @Sendable () async -> LogID? = { nil }
    /// The invites that this user has made; nil where nobody is admitted by this device.
    package var invites: (any InviteBook)?

    package init(
        vault: VaultID, root: ItemID, log: LogID, introduction: LogIntroduction, keys: any VaultKeys,
        milliseconds: @escaping @Sendable () -> UInt64
    ) {
        self.vault = vault
        self.root = root
        self.log = log
        self.introduction = introduction
        self.keys = keys
        self.milliseconds = milliseconds
    }
}
