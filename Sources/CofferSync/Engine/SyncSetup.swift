package import CofferFormat
package import CofferTrust

/// The vault's keys on this device; sync does not know where they are stored.
package protocol VaultKeys: Sendable {
    /// Signs the commits of this device.
    var author: RecordAuthor { get }
    /// The keys opened so far; nil if none were.
    func keyring() async -> Keyring?
    /// Opens all keys that the user has a wrap for, and stores them.
    ///
    /// - Parameter wraps: The set that `chain.wraps(for:)` names.
    func open(_ wraps: WrapSet, of chain: MemberChain, known: Keyring?) async throws(TrustError) -> Keyring
}

/// The vault, user and device to sync, with limits and schedules.
package struct SyncSetup: Sendable {
    /// The vault.
    package let vault: VaultID
    /// The vault's root directory.
    package let root: ItemID
    /// This device's log in the vault; the engine begins another one once commits added to it no longer count.
    package let log: LogID
    /// The names of the user and the device.
    package let introduction: LogIntroduction
    /// The vault's keys.
    package let keys: any VaultKeys
    /// The device's clock, in milliseconds since 1970.
    package let milliseconds: @Sendable () -> UInt64
    /// The number of commits after which a checkpoint is made.
    package var commitsPerCheckpoint: UInt64 = 1000
    /// Packs that nothing refers to are deleted once they have this many bytes, and are one of so many parts of
    /// all packs.
    package var retiredByteCountMin = 16 << 20, retiredFraction = 8
    /// The most bytes that move at a time out of sparse and small packs, and how many packs are many small ones.
    package var movedByteCountMax = 128 << 20, smallPackCountMin = 64
    /// The most logs that are applied: in total, and of one author unless others name them.
    package var logCountMax = TrustLimits.logCountMax, authorLogCountMax = TrustLimits.authorLogCountMax
    /// The most bytes of commits that may wait for others.
    package var waitingByteCountMax = 32 << 20
    /// The number of rounds in which a remote may show less than before until that is reported.
    package var staleRoundsMax = 3
    /// Returns the user's own card, with its newest transient key; nil if there is none yet.
    package var card: @Sendable () async -> IdentityCard? = { nil }
    /// Called with a newer transient key of this user, which another device has made.
    package var seenTransientKey: @Sendable (TransientKey) async -> Void = { _ in }
    /// Makes and saves the id of a new log for this device; nil if it cannot be saved.
    package var newLog: @Sendable () async -> LogID? = { nil }
    /// The invites that this user has made; nil if this device admits nobody.
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
