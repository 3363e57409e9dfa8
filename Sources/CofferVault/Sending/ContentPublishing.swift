package import CofferFacts
package import CofferFormat
internal import CofferStore

/// What turns contents of files into values that facts hold, and back.
package protocol ContentPublishing: Sendable {
    /// What stands for the contents of files as they are now; for others to read by.
    ///
    /// Called without a lock, and may take its time. If a file changes meanwhile, its value is not used. Files that
    /// are left out wait for the next commit.
    ///
    /// - Throws: what keeps all changes from being sent for now.
    func contents(of numbers: [Int64], in vault: Vault) throws(FileSystemError) -> [Int64: Fact.Content]

    /// Gets ready for a content of an item that others wrote: what cannot be done under a lock.
    func prepare(_ content: Fact.Content, of item: ItemID, in vault: Vault) throws(FileSystemError)

    /// Whether a content that was prepared begins with all of another, to which it added something; false if that is
    /// not easy to tell.
    ///
    /// - Parameters:
    ///   - old: With at least one byte, and fewer than the new one.
    ///   - number: The file that has the old content; nil if none has it yet.
    func begins(
        _ new: Fact.Content, with old: Fact.Content, at number: Int64?, in vault: Vault
    ) throws(FileSystemError) -> Bool

    /// Puts contents in place that were not prepared when they were to be applied, as far as the remote answers.
    ///
    /// Called without a lock after changes were taken in, and before changes are sent.
    func settle(in vault: Vault) throws(FileSystemError)

    /// Lets go of what was prepared.
    func forgetPrepared()

    /// Gives a file a content in the place of what it has; nil for none.
    ///
    /// Under the vault's lock and in its transaction, so without waiting. Sets size and allocated bytes, but no
    /// times.
    func apply(_ content: Fact.Content?, to file: ContentTarget) throws(FileSystemError)
}

/// A file whose content is replaced, as long as the vault's lock is held.
package struct ContentTarget {
    let item: CachedItem
    let state: VaultState
    let vault: Vault
    /// Another file that may have the same extents, as this is a new version of it.
    let other: Int64?

    /// The file's number.
    package var number: Int64 { item.row.number }
    /// The file's id, under which its content is sealed unless the value names another.
    package var id: ItemID { item.row.id }

    /// Takes all content away.
    func clear() throws(FileSystemError) {
        try vault.removeContent(of: item, 0..<Int64.max, state)
        item.row.size = 0
        state.touch(item, [])
    }
}

/// Who takes part in a vault from this device.
package struct Participant: Sendable {
    /// This device's log in the vault.
    package var log: LogID
    /// What the device is called; goes into conflict names.
    package var label: String
    /// Keys the hash of what is shown.
    package var hashKey: StateHashKey
    /// What makes values of contents.
    package var contents: any ContentPublishing
    /// What the clock says, in milliseconds since 1970.
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
