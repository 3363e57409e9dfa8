internal import Synchronization

/// Estimates how many bytes are still to be sent while a large file is on its way.
///
/// A vault counts the bytes of a file as unsent until all of it is at the remote. The estimate falls with each
/// byte that is sent meanwhile.
final class UnsentEstimate: Sendable {
    private struct Count {
        var unsent: Int64
        var sent: Int64
    }

    private let last = Mutex<Count?>(nil)

    /// The bytes that are still to be sent.
    ///
    /// - Parameters:
    ///   - unsent: The bytes of all files that are not sent yet as a whole.
    ///   - sent: All bytes sent so far, as the remote's counter says.
    func left(of unsent: Int64, sent: Int64) -> Int64 {
        last.withLock { last in
            guard let known = last, known.unsent == unsent, unsent > 0 else {
                last = Count(unsent: unsent, sent: sent)
                return unsent
            }
            return max(0, unsent - (sent - known.sent))
        }
    }
}
