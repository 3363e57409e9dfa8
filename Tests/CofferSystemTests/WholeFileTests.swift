import CofferSystem
import Foundation
import Synchronization
import Testing

private let signalCount = Atomic(0)

struct WholeFileTests {
    /// A command must not die silently because the mount that it asks has just ended.
    @Test func writingWithoutAReader() throws {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        close(ends[1])
        defer { close(ends[0]) }
        let previous = signal(SIGPIPE) { _ in signalCount.add(1, ordering: .relaxed) }
        defer { signal(SIGPIPE, previous) }
        var mask = sigset_t()
        var before = sigset_t()
        sigemptyset(&mask)
        sigaddset(&mask, SIGPIPE)
        pthread_sigmask(SIG_UNBLOCK, &mask, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let error = #expect(throws: SystemError.self) {
            try WholeFile.writeAll([1, 2, 3], to: ends[0], subject: "socket")
        }
        #expect(error?.code == EPIPE)
        #expect(signalCount.load(ordering: .relaxed) == 0)
    }
}
