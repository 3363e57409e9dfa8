package import CofferFormat
internal import CofferStore

/// The location of a file's content; the raw value is that of the attribute `user.coffer.state`.
package enum ContentState: String, Sendable {
    /// Some of its changes are only on this device.
    case local
    /// Its changes are being sent.
    case uploading
    /// It is on the remote and, at least in part, on this device.
    case synced
    /// It is on the remote, and no byte of it is on this device.
    case remoteOnly = "remote-only"
}

extension Vault {
    /// Whether the content of a file is on this device, on a remote, or both.
    ///
    /// For other items, returns whether their changes were sent.
    package func contentState(of number: Int64) throws(FileSystemError) -> ContentState {
        try looking { state throws(FileSystemError) in try state.contentState(of: number) }
    }
}

extension VaultState {
    /// Whether the content of a file is on this device, on a remote, or both, according to its rows.
    ///
    /// For other items, returns whether their changes were sent.
    func contentState(of number: Int64) throws(FileSystemError) -> ContentState {
        let item = try tree.peek(number)
        guard FileType(mode: item.mode) == .regular else {
            return item.unsent.isEmpty ? .synced : .local
        }
        guard item.unsent.isDisjoint(with: [.content, .existence]) else {
            return tree.publishing.contains(number) ? .uploading : .local
        }
        // If a file has very many ranges, the first ones decide.
        let rows = try index.extents(after: number, -1, limit: 1024).filter { $0.item == number }
        return !rows.isEmpty && rows.allSatisfy { $0.place == .remote } ? .remoteOnly : .synced
    }
}
