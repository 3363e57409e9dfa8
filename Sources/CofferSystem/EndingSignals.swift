internal import CCofferSystem
internal import Glibc

/// SIGTERM, SIGINT, and SIGHUP, for a program that must clean up before it ends.
package enum EndingSignals {
    /// Blocks these signals in this thread and in those that it starts, so that they wait for `next`.
    ///
    /// Also ignores SIGPIPE.
    package static func hold() {
        coffer_block_signals()
    }

    /// Waits for one of these signals, which must be blocked by `hold`, and returns its number.
    package static func next() -> Int32 {
        coffer_wait_for_signal()
    }

    /// Ends the process by a signal that was held, so that its parent sees the reason.
    package static func die(of number: Int32) -> Never {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, number)
        unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
        raise(number)
        // Reached only if the process was started with the signal ignored; shells report a signal this way.
        exit(128 + number)
    }
}
