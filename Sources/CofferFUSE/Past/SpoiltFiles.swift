internal import CofferSystem

/// Past files of which programs have tried to change the content.
///
/// The kernel changes a file's times before it asks, and lets programs write into its cache: Coffer refuses the pages only
/// when the kernel stores them. By then the kernel shows another content, size, and time of the file, and believes only
/// itself about them. Under another generation the file is a new one to the kernel: what it knew of the old one is not
/// asked any more.
final class SpoiltFiles: Sendable {
    private struct File {
        /// How often it became another file to the kernel.
        var changes: UInt64 = 0
        /// Whether the kernel may have seen the file since the last of these changes.
        var isShown = true
        /// Whether the kernel will be told to drop its pages.
        var isDropping = false
    }

    private let files = RankedMutex([Node: File](), rank: .leaf)

    /// Notes a refused change; for use before the kernel gets the answer.
    ///
    /// - Returns: Whether the kernel has to be told to drop the file's pages.
    func add(_ node: Node) -> Bool {
        files.withLock { files in
            var file = files[node] ?? File()
            // Other pages of the same file may follow.
            if file.isShown { file.changes += 1 }
            file.isShown = false
            defer { files[node] = file }
            guard !file.isDropping else { return false }
            file.isDropping = true
            return true
        }
    }

    /// Notes that the kernel is being told to drop a file's pages.
    func noteDropping(_ node: Node) { files.withLock { $0[node]?.isDropping = false } }

    /// How often a file, which the kernel is about to see, became another one to it.
    func changes(of node: Node) -> UInt64 {
        files.withLock { files in
            files[node]?.isShown = true
            return files[node]?.changes ?? 0
        }
    }

    /// Notes that the kernel has forgotten a node.
    func remove(_ node: Node) { files.withLock { _ = $0.removeValue(forKey: node) } }
}
