internal import CCofferSystem

/// Whether the calling thread leaves work that would wait for the disk to other threads.
///
/// A property of the thread, like the locks that it holds: the thread that serves a mount performs the same operations
/// as all others, and only what happens when they would have to wait is different.
package enum LeavingWaits {
    private static let off: Int32 = 0, on: Int32 = 1, left: Int32 = 2

    /// Whether the thread is inside of `perform`.
    package static var isOn: Bool { coffer_leaves_waiting() != off }

    /// Records that the work was left undone because it would have to wait.
    package static func noteLeft() { coffer_set_leaves_waiting(left) }

    /// Runs `body`, in which operations wait, also inside of `perform`.
    package static func suspended(_ body: () -> Void) {
        let state = coffer_leaves_waiting()
        coffer_set_leaves_waiting(off)
        defer { coffer_set_leaves_waiting(state) }
        body()
    }

    /// Runs `body`, in which operations fail with `FileSystemError.pageAbsent` where they would wait for a page of an
    /// index.
    ///
    /// - Returns: False if `noteLeft` was called: the work is still to be done.
    package static func perform(_ body: () -> Void) -> Bool {
        let state = coffer_leaves_waiting()
        coffer_set_leaves_waiting(on)
        defer { coffer_set_leaves_waiting(state) }
        body()
        return coffer_leaves_waiting() != left
    }
}
