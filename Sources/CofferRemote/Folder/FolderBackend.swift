package import CofferSystem

/// A folder as a remote: on this machine, on a mounted server, or replicated by another tool.
///
/// An object is a file whose path in the folder is the object's name; names have the form "vaults/ID/…". The
/// folder itself must exist, and is never made. Below it, nothing is made while the vault's format object is
/// missing, so that an unused mount point stays as it is. Symbolic links in the folder are not followed.
package struct FolderBackend: RemoteBackend {
    private static let threadCountMax = 8

    private let tree: FolderTree
    private let calls = BlockingCalls("coffer-folder", max: threadCountMax)

    /// Uses the folder at an absolute path; symbolic links in the path are followed.
    ///
    /// Opens nothing yet.
    package init(path: String) {
        self.init(path: path, publishing: FolderPublishing.allCases)
    }

    /// Uses only these ways to publish an object, in this order, and replaceable system calls, for tests.
    package init(path: String, publishing: [FolderPublishing], calls: FolderCalls = FolderCalls()) {
        tree = FolderTree(path: path, publishing: publishing, calls: calls)
    }

    package var limits: RemoteLimits {
        RemoteLimits(
            objectByteCountMax: 1 << 40, rangeByteCountMax: 64 << 20, concurrentCallsMax: Self.threadCountMax)
    }

    package func describe() -> String { "folder \(tree.path)" }

    package func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        try limits.check(range: range)
        return try await calls.run(ifCancelled: .cancelled) { [tree] () throws(RemoteError) in
            try tree.get(name, range)
        }
    }

    package func getBuffer(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> BufferPart {
        try limits.check(range: range)
        return try await calls.run(ifCancelled: .cancelled) { [tree] () throws(RemoteError) in
            try tree.getBuffer(name, range)
        }
    }

    package func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        try limits.check(object: bytes.byteCount)
        try await calls.run(ifCancelled: .cancelled) { [tree] () throws(RemoteError) in
            try tree.put(name, bytes, ifAbsent: ifAbsent)
        }
    }

    package func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        try await calls.run(ifCancelled: .cancelled) { [tree] () throws(RemoteError) in
            try tree.list(prefix, after: after)
        }
    }

    package func delete(_ name: RemoteName) async throws(RemoteError) {
        try await calls.run(ifCancelled: .cancelled) { [tree] () throws(RemoteError) in try tree.delete(name)
        }
    }

    package func obstacles(below prefix: RemotePrefix) async throws(RemoteError) -> [String] {
        try await calls.run(ifCancelled: .cancelled) { [tree] () throws(RemoteError) in
            try tree.obstacles(below: prefix)
        }
    }

    package func shortcomings() async throws(RemoteError) -> [String] {
        try await calls.run(ifCancelled: .cancelled) { [tree] () throws(RemoteError) in
            try tree.shortcomings()
        }
    }

    package func tidy(_ prefix: RemotePrefix) async throws(RemoteError) {
        try await calls.run(ifCancelled: .cancelled) { [tree] () throws(RemoteError) in try tree.tidy(prefix)
        }
    }

    package func visibility() async -> ChangeVisibility {
        let answer = try? await calls.run(ifCancelled: .cancelled) { [tree] () throws(RemoteError) in
            tree.visibility
        }
        return answer ?? .polled
    }

    package func changes(below prefix: RemotePrefix) -> RemoteChanges {
        FolderWatch.changes(of: tree, below: prefix, polling: .standard)
    }

    /// Like `changes(below:)`, with the given schedule, and optionally without the kernel's notifications.
    package func changes(
        below prefix: RemotePrefix, polling: PollSchedule, usesNotifications: Bool
    ) -> RemoteChanges {
        FolderWatch.changes(of: tree, below: prefix, polling: polling, usesNotifications: usesNotifications)
    }
}
