package import CofferFormat
internal import CofferSystem
internal import Synchronization

/// The keys of an open vault, which become more when an epoch begins.
///
/// They are looked up for each extent, by many threads, so without a lock: what was newest once stays in memory as
/// long as the vault is open, which is a dictionary for each epoch that began meanwhile.
// SAFETY: `newest` refers to an element of `all`, from which nothing is ever removed.
@safe
final class AdoptedKeys: Sendable {
    private let newest: Atomic<Unmanaged<ContentKeys>>
    private let all: Condition<[ContentKeys]>

    init(_ keys: ContentKeys) {
        all = Condition([keys])
        unsafe newest = Atomic(Unmanaged.passUnretained(keys))
    }

    /// All that this device has now.
    ///
    /// Whoever seals takes them once, so that the row says what was used.
    var current: ContentKeys {
        // SAFETY: See above; `acquiring` makes visible what `add` wrote before.
        unsafe newest.load(ordering: .acquiring).takeUnretainedValue()
    }

    /// Takes keys in the place of those that there were.
    func add(_ keys: ContentKeys) {
        all.withLock { all in
            let more = current.followed(by: keys)
            all.append(more)
            // SAFETY: `all` keeps it.
            unsafe newest.store(Unmanaged.passUnretained(more), ordering: .releasing)
        }
    }
}

extension Vault {
    /// What content is sealed and opened with.
    var keys: ContentKeys { adopted.current }

    /// The epoch that new content is sealed under.
    package var epoch: Epoch { keys.current }

    /// Takes in keys of epochs that began, or became known, while the vault is open.
    ///
    /// What is written from now on is sealed under the newest of them; what another thread is sealing at this moment
    /// may still be of the one before. What was sealed before stays as it is, until `reencrypt`, or until it is sent
    /// if it is sealed under a key that another one takes the place of: `sealAnew`. Whoever calls has stored the keys,
    /// and those that were there before: after a crash what was sealed with others is lost.
    ///
    /// - Throws: `.invalidArgument` if they are of another vault.
    package func adopt(_ keys: ContentKeys) throws(FileSystemError) {
        guard keys.vault == id else { throw .invalidArgument }
        adopted.add(keys)
    }
}
