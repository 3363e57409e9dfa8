package import CofferFormat
internal import CofferSystem
internal import Synchronization

/// The keys of an open vault; more are added when an epoch begins.
///
/// Many threads look them up for each extent, so that takes no lock. Replaced sets of keys stay in memory
/// while the vault is open; that costs a dictionary for each epoch that begins in the meantime.
// SAFETY: `newest` refers to an element of `all`, from which nothing is ever removed.
@safe
final class AdoptedKeys: Sendable {
    private let newest: Atomic<Unmanaged<ContentKeys>>
    private let all: RankedMutex<[ContentKeys]>

    init(_ keys: ContentKeys) {
        all = RankedMutex([keys], rank: .leaf)
        unsafe newest = Atomic(Unmanaged.passUnretained(keys))
    }

    /// All keys that this device has now.
    ///
    /// A thread that seals reads them once, so that the row names the epoch that was used.
    var current: ContentKeys {
        // SAFETY: See above; `acquiring` makes the writes of `add` visible.
        unsafe newest.load(ordering: .acquiring).takeUnretainedValue()
    }

    /// Replaces the keys; the old ones can still open existing data.
    func add(_ keys: ContentKeys) {
        all.withLock { all in
            let more = current.followed(by: keys)
            all.append(more)
            // SAFETY: `all` keeps a reference to it.
            unsafe newest.store(Unmanaged.passUnretained(more), ordering: .releasing)
        }
    }
}

extension Vault {
    /// The keys that seal and open content.
    var keys: ContentKeys { adopted.current }

    /// The current epoch, which new content is sealed under.
    package var epoch: Epoch { keys.current }

    /// Adopts the keys of epochs that began, or became known, while the vault is open.
    ///
    /// The newest key seals everything that is written from now on; content that another thread is sealing at
    /// this moment may still be of the previous epoch. Older content stays as it is until `reencrypt`. If its
    /// key was replaced by another of the same epoch, it stays until it is sent: `sealAnew`. The caller has
    /// already stored these keys and the earlier ones; otherwise a crash would lose data that is sealed with
    /// the new keys.
    ///
    /// - Throws: `.invalidArgument` if the keys are of another vault.
    package func adopt(_ keys: ContentKeys) throws(FileSystemError) {
        guard keys.vault == id else { throw .invalidArgument }
        adopted.add(keys)
    }
}
