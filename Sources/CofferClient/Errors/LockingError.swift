/// A failure to lock or unlock a mounted profile, or a request that a locked one refuses.
package enum LockingError: Error {
    /// The profile is locked, and the request needs its keys.
    case locked
    /// The profile is not mounted, so its keys are in no process.
    case notMounted
    /// Another command locks, unlocks, or unmounts the profile.
    case underWay
    /// The mount belongs to a command, which has to end first.
    case notPossible
    /// Programs kept writing, so that not everything could be stored, or wait for contents.
    case inUse
    /// A command that changes vaults did not end.
    case commandUnderWay
    /// Programs take writes for done that could not be stored: the kernel has the only copy.
    case failedWrites(files: [String], others: Int)
    /// The program could not be started again, or not as it was: parts of it have been replaced meanwhile.
    case replaced
    /// The profile is locked, but a vault could not be closed.
    case notClosed(reason: String)
    /// The profile is locked, but changes of files are lost, which could not be stored when programs wrote them.
    case lost(files: Int)
    /// Changes that programs take for done cannot be stored.
    case notStored(reason: String)
    /// The kernel could not be made to write what it has cached.
    case notWritten(reason: String)
}

extension LockingError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .locked: "The profile is locked. Unlock it with: coffer unlock"
        case .notMounted:
            "The profile is not mounted, so there is nothing to lock or unlock. Mount it with: coffer mount"
        case .underWay: "The profile is being locked, unlocked, or unmounted. Try again in a moment."
        case .notPossible: "This mount belongs to a command. It ends with the command."
        case .inUse:
            """
            The profile stays unlocked, because programs keep writing to it, or wait for contents of a remote. End them, \
            or wait for them, and try again.
            """
        case .commandUnderWay:
            "The profile stays unlocked, because another command changes its vaults. Try again when that has ended."
        case .failedWrites(let files, let others):
            """
            The profile stays unlocked, because changes of \(Self.list(files, others)) could not be stored when a program wrote \
            them, and still cannot. Make room, and try again, or discard the changes with: coffer lock --force
            """
        case .replaced:
            """
            This mount cannot be locked or unlocked any more, because the program or its libraries have been replaced \
            since it began. Unmount it with: coffer unmount
            """
        case .notClosed(let reason):
            """
            The profile is locked, but some of its latest changes could not be stored: \(reason). Run after the unlock: \
            coffer check
            """
        case .lost(let files):
            """
            The profile is locked, but changes of files (\(files)) are lost: they could not be stored when programs wrote them. \
            The mount has logged their names.
            """
        case .notStored(let reason):
            """
            The profile stays unlocked, because the latest changes cannot be stored: \(reason). Fix this and try \
            again, or discard the changes with: coffer lock --force
            """
        case .notWritten(let reason):
            """
            The profile stays unlocked, because the system does not write what it has cached of the vaults: \(reason). \
            Fix this and try again, or risk these changes with: coffer lock --force
            """
        }
    }

    /// Names files in a sentence.
    static func list(_ files: [String], _ others: Int) -> String {
        let names = files.map { "“\($0)”" }.joined(separator: ", ")
        return others == 0 ? names : "\(names) and of other files (\(others))"
    }

    var exitCode: Int32 {
        switch self {
        case .locked, .underWay, .inUse, .commandUnderWay: 75  // EX_TEMPFAIL
        case .notMounted: 72  // EX_OSFILE
        case .notStored, .notWritten, .failedWrites, .notClosed, .lost: 74  // EX_IOERR
        case .notPossible, .replaced: 76  // EX_PROTOCOL
        }
    }
}
