internal import CCofferSystem
internal import Glibc

/// SIGTERM, SIGINT and SIGHUP, for a program that has things to put away before it ends.
package enum EndingSignals {
    /// Keeps them from ending the process at once; they wait for `next`.
    ///
    /// For this thread and those that it starts. Ignores SIGPIPE, too.
    package static func hold() {
        coffer_block_signals()
    }

    /// Waits for one of them and returns which; they must be held.
    package static func next() -> Int32 {
        coffer_wait_for_signal()
    }

    /// Ends the process by a signal that was held, so that whoever started it sees why.
    package static func die(of number: Int32) -> Never {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, number)
        unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
        raise(number)
        // Only where the process was started with the signal ignored; as shells tell of it.
        exit(128 + number)
    }
}
