package import CofferFacts
package import CofferFormat
internal import CofferStore

/// Turns contents of files into values in facts, and back.
package protocol ContentPublishing: Sendable {
    /// The values of files' current contents, which other devices use to read them.
    ///
    /// Called without a lock, and may block. The value of a file that changes in the meantime is not used.
    /// Files that are left out wait for the next commit.
    ///
    /// - Throws: Errors that keep all changes from being sent for now.
    func contents(of numbers: [Int64], in vault: Vault) throws(FileSystemError) -> [Int64: Fact.Content]

    /// Prepares a content of another device: does the work that is not possible under a lock.
    func prepare(_ content: Fact.Content, of item: ItemID, in vault: Vault) throws(FileSystemError)

    /// Whether a prepared content is another one with bytes appended; false if that is not easy to determine.
    ///
    /// - Parameters:
    ///   - old: Has at least one byte, and fewer than the new content.
    ///   - number: The file that has the old content; nil if there is none yet.
    func begins(
        _ new: Fact.Content, with old: Fact.Content, at number: Int64?, in vault: Vault
    ) throws(FileSystemError) -> Bool

    /// Puts contents in place that were not prepared when they were applied, as far as the remote answers.
    ///
    /// Called without a lock, after changes were applied and before changes are sent.
    func placeArrived(in vault: Vault) throws(FileSystemError)

    /// Drops what was prepared.
    func forgetPrepared()

    /// Replaces the content of a file; nil for an empty one.
    ///
    /// Called under the vault's lock and in its transaction, so it must not block. Sets the size and the
    /// allocated bytes, but no times.
    func apply(
        _ content: Fact.Content?, to file: ContentTarget, _ state: inout VaultState
    ) throws(FileSystemError)

    /// Records where the bytes of a file's content lie now; the content is the same.
    ///
    /// Called as `apply` is. Programs see no change, and what is on this device stays.
    func move(
        _ content: Fact.Content, of file: ContentTarget, _ state: inout VaultState
    ) throws(FileSystemError)
}

/// A file whose content is replaced, while the vault's lock is held.
package struct ContentTarget {
    let item: CachedItem
    let vault: Vault
    /// Another file that may have the same extents, because this one is a new version of it.
    let other: Int64?

    /// The file's number.
    package var number: Int64 { item.row.number }
    /// The file's id, under which its content is sealed unless the value names another.
    package var id: ItemID { item.row.id }

    /// Removes all content.
    func clear(_ state: inout VaultState) throws(FileSystemError) {
        try state.removeContent(of: item, 0..<Int64.max)
        try state.keepHoles(in: 0..<Int64.max, of: item)
        item.row.size = 0
        state.tree.touch(item, [])
    }
}

/// This device as a participant in a vault.
package struct Participant: Sendable {
    /// This device's log in the vault.
    package var log: LogID
    /// The device's label, used in conflict names.
    package var label: String
    /// The key of the hash of what is shown.
    package var hashKey: StateHashKey
    /// Makes the values of contents.
    package var contents: any ContentPublishing
    /// The clock's time, in milliseconds since 1970.
    package var milliseconds: @Sendable () -> UInt64

    package init(
        log: LogID, label: String, hashKey: StateHashKey, contents: any ContentPublishing,
        milliseconds: @escaping @Sendable () -> UInt64
    ) {
        self.log = log
        self.label = label
        self.hashKey = hashKey
        self.contents = contents
        self.milliseconds = milliseconds
    }
}
