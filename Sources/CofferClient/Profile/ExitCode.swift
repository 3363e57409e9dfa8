internal import CofferFormat
internal import CofferSync
internal import CofferTrust
internal import CofferVault

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

extension ProfileError {
    /// The exit code of `coffer` for this error, from sysexits.h; documented in the manual.
    package var exitCode: Int32 {
        switch self {
        case .wrongPassphrase, .emptyPassphrase: 77  // EX_NOPERM
        case .tooManyAttempts, .locked: 75  // EX_TEMPFAIL
        case .noProfile, .noSuchVault: 66  // EX_NOINPUT
        case .profileExists, .notPrivate, .vaultExists, .vaultNotEmpty: 73  // EX_CANTCREAT
        case .damagedProfile, .newerProfile: 65  // EX_DATAERR
        case .invalidVaultName, .invalidName: 64  // EX_USAGE
        case .noTerminal, .passphrasesDiffer, .hintTellsPassphrase: 64  // EX_USAGE
        case .mountPoint(_, .busy), .mountPoint(_, .inUse): 75  // EX_TEMPFAIL
        case .mountPoint(_, .busyHere), .mountPoint(_, .busyElsewhere): 75  // EX_TEMPFAIL
        case .mountPoint(_, .detached): 75  // EX_TEMPFAIL
        case .mountPoint, .notMounted: 72  // EX_OSFILE
        case .noFUSE: 69  // EX_UNAVAILABLE
        case .noMemory: 71  // EX_OSERR
        case .vault(.damaged), .vault(.format): 65  // EX_DATAERR
        case .system, .vault, .notStored: 74  // EX_IOERR
        case .sync(_, .membership(.postponed)): 75  // EX_TEMPFAIL
        case .sync(_, .membership(.refused)), .sync(_, .membership(.removed)), .sync(_, .membership(.left)),
            .sync(_, .membership(.revoked)), .sync(_, .notMember):
            77  // EX_NOPERM
        case .sync, .remote, .requestStays: 74  // EX_IOERR
        case .othersAreMembers, .notOwner: 77  // EX_NOPERM
        case .remoteURL: 64  // EX_USAGE
        case .noSuchPath, .notPinned: 66  // EX_NOINPUT
        case .notFetched(_, _, .damaged): 65  // EX_DATAERR
        case .notFetched: 74  // EX_IOERR
        case .noRemote, .noSuchMember, .noSuchConflict, .noSuchJoin, .noSuchInvite: 66  // EX_NOINPUT
        case .ambiguousMember: 64  // EX_USAGE
        case .hasRemote, .otherRemote, .incompleteRemote, .hasVault, .remoteOnly: 73  // EX_CANTCREAT
        case .vaultBusy, .joinInterrupted: 75  // EX_TEMPFAIL
        case .notJoined(.remote): 74  // EX_IOERR
        case .notJoined(.noVault): 66  // EX_NOINPUT
        case .notJoined(let error): error.isNotArrived ? 75 : 77  // EX_TEMPFAIL, EX_NOPERM
        case .trust(.notAnInvite), .trust(.newerInvite), .trust(.notACard): 65  // EX_DATAERR
        case .otherWords, .trust: 77  // EX_NOPERM
        case .control, .olderMount: 76  // EX_PROTOCOL
        }
    }
}
