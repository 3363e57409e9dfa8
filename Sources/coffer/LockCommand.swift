internal import ArgumentParser
internal import CofferClient

struct LockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Lock the mounted profile: its keys leave the memory, and the mount stays.",
        discussion: """
            Stores everything, makes the system forget the names and contents that it has cached, and ends everything \
            that has keys. The mount stays in place; programs that use it get the error “Required key not available” \
            until “coffer unlock”, and can then go on with the files that they have open. Sync stops meanwhile.

            If programs keep writing, or changes cannot be stored, the profile stays unlocked. If the disk was \
            full, make room, and lock again: changes that were not stored are still in the system's memory.

            “coffer mount -o lock-after=15m” locks the profile after 15 minutes without use, “-o lock-on-sleep” as soon as \
            the machine has woken up.
            """)

    @OptionGroup var home: HomeOption

    @Flag(
        name: .shortAndLong,
        help:
            "Lock even if the latest changes cannot be stored, or programs keep writing. These changes are lost."
    )
    var force = false

    func run() throws {
        let isNew = try ProfileLocking.lock(try home.location(), force: force)
        if !isNew { Output.error("The profile is locked already.") }
    }
}

struct UnlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock", abstract: "Unlock a profile that “coffer lock” has locked.",
        discussion:
            "The same mount goes on, with the same inode numbers. Files that programs have open work again.")

    @OptionGroup var profile: ProfileOptions

    func run() throws {
        let wasLocked = try ProfileLocking.unlock(try profile.location()) { () throws(ClientError) in
            try Passphrase(options: profile).ask()
        }
        if !wasLocked { Output.error("The profile is not locked.") }
    }
}
