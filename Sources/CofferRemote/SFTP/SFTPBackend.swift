internal import CofferSystem

/// A directory of an SFTP server as a remote.
///
/// Objects lie as in a folder (`FolderBackend`), so that a directory can be used either way, also at the same time.
package struct SFTPBackend: RemoteBackend {
    private static let threadCountMax = 8

    private let tree: SFTPTree
    private let text: String
    private let polling: PollSchedule
    private let calls = BlockingCalls("coffer-sftp", max: threadCountMax)

    /// Uses a directory, over ssh; starts nothing yet.
    ///
    /// - Parameters:
    ///   - variables: The environment of ssh.
    ///   - polling: When to list for changes.
    package init(
        _ url: SFTPURL, variables: [String: String] = ProcessVariables.all, polling: PollSchedule = .standard
    ) {
        self.init(.ssh(url, variables), root: url.path, text: "SFTP directory \(url.text)", polling)
    }

    /// Uses a place that rclone reaches; starts nothing yet.
    package init(
        _ url: RcloneURL, variables: [String: String] = ProcessVariables.all,
        polling: PollSchedule = .standard
    ) {
        self.init(.rclone(url, variables), root: ".", text: "rclone remote \(url.place)", polling)
    }

    init(_ server: SFTPServer, root: String, text: String, _ polling: PollSchedule = .standard) {
        tree = SFTPTree(server, root: root)
        self.text = text
        self.polling = polling
    }

    package var limits: RemoteLimits {
        RemoteLimits(
            objectByteCountMax: 1 << 40, rangeByteCountMax: 64 << 20, concurrentCallsMax: Self.threadCountMax)
    }

    package func describe() -> String { text }

    package func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        try limits.check(range: range)
        return try await run { tree, call throws(RemoteError) in try tree.get(name, range, call) }
    }

    package func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        try limits.check(object: bytes.byteCount)
        try await run { tree, call throws(RemoteError) in
            try tree.put(name, bytes, ifAbsent: ifAbsent, call)
        }
    }

    package func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        try await run { tree, call throws(RemoteError) in try tree.list(prefix, after: after, call) }
    }

    package func delete(_ name: RemoteName) async throws(RemoteError) {
        try await run { tree, call throws(RemoteError) in try tree.delete(name, call) }
    }

    package func tidy(_ prefix: RemotePrefix) async throws(RemoteError) {
        try await run { tree, call throws(RemoteError) in try tree.tidy(prefix, call) }
    }

    package func shortcomings() async throws(RemoteError) -> [String] {
        try await run { tree, call throws(RemoteError) in try tree.shortcomings(call) }
    }

    package func changes(below prefix: RemotePrefix) -> RemoteChanges {
        let coarse = CoarseDigest()
        return PolledChanges.changes(below: prefix, polling) { () async throws(RemoteError) in
            let digest = try await run { tree, call throws(RemoteError) in try tree.digest(prefix, call) }
            return coarse.told(digest)
        }
    }

    private func run<Value: Sendable>(
        _ body: @escaping @Sendable (SFTPTree, SFTPCall) throws(RemoteError) -> Value
    ) async throws(RemoteError) -> Value {
        let call = SFTPCall()
        return try await calls.run(
            ifCancelled: .cancelled, { [tree] () throws(RemoteError) in try body(tree, call) },
            onCancel: { call.cancel() })
    }
}
