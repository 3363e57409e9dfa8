extension [SyncReport] {
    /// The exit code of `coffer sync`.
    ///
    /// It is 74 if a vault could not be synced; otherwise 65 if a remote showed something that cannot be
    /// trusted; otherwise 75 if items are left to send or commits to apply; otherwise 0.
    package var exitCode: Int32 {
        if contains(where: { $0.failure != nil }) { return 74 }  // EX_IOERR
        if contains(where: { !$0.doubts.isEmpty }) { return 65 }  // EX_DATAERR
        if contains(where: { $0.unsentItems > 0 || $0.commitsWaiting > 0 }) { return 75 }  // EX_TEMPFAIL
        return 0
    }
}
