internal import ArgumentParser
internal import CofferClient
internal import CofferSystem
internal import Glibc

/// The command line, which parses, asks and prints; CofferClient does everything else.
@main
struct Coffer: ParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "coffer",
        abstract: "End-to-end-encrypted vaults as folders.",
        discussion: """
            A profile holds your keys and the vaults on this device. “coffer init” creates one; “coffer mount ~/Coffer” \
            then shows each vault as a directory there.

            Examples:
              coffer init
              coffer mount ~/Coffer
              cp -a ~/Documents ~/Coffer/Personal/
              coffer remote add Personal /mnt/nas/coffer
              coffer status
              coffer unmount ~/Coffer

            Exit codes:
              0   success
              1   “check” found damage, “evict” left something, or the answer was no
              64  the command line is wrong
              65  data is damaged, doubtful, or written by a newer version of Coffer
              66  nothing has that name
              69  FUSE is not available
              71  there is not enough memory
              72  the mount point cannot be used
              73  something of that name exists already
              74  input or output failed, or something could not be synced or checked
              75  try again later: locked, busy, too many attempts, or not everything has synced
              76  the mount did not answer properly
              77  the passphrase is wrong, or you may not do this
            """,
        version: version,
        subcommands: [
            InitCommand.self, MountCommand.self, UnmountCommand.self, LockCommand.self, UnlockCommand.self,
            StatusCommand.self,
            PassphraseCommand.self, RecoveryCommand.self, VaultCommand.self, RemoteCommand.self,
            SyncCommand.self, MemberCommand.self, JoinCommand.self, IdentityCommand.self,
            DeviceCommand.self, ConflictsCommand.self,
            PinCommand.self, UnpinCommand.self, EvictCommand.self,
            HistoryCommand.self, SnapshotCommand.self, DiffCommand.self, RestoreCommand.self,
            UndoCommand.self,
            CheckCommand.self, BenchCommand.self, VersionCommand.self,
        ])

    static func main() {
        do {
            try ProcessHardening.apply()
        } catch {
            Output.error("coffer: Dumps of this process's memory cannot be prevented: \(error)")
            Glibc.exit(71)
        }
        if let script = CompletionScript.requested(Array(CommandLine.arguments.dropFirst())) {
            return Output.line(script)
        }
        do {
            var command = try parseAsRoot()
            do { try command.run() } catch let error as ValidationError {
                // The usage would be that of “coffer” itself.
                Output.error("coffer: \(error)")
                Glibc.exit(ExitCode.validationFailure.rawValue)
            }
        } catch let error as ClientError {
            Output.error("coffer: \(error)")
            Glibc.exit(error.exitCode)
        } catch {
            end(error)
        }
    }

    /// Prints what ArgumentParser says: a help text, or an error with the usage of its command; then exits.
    private static func end(_ error: any Error) -> Never {
        let (code, text) = (exitCode(for: error), fullMessage(for: error))
        if code.isSuccess {
            if !text.isEmpty { Output.line(text) }
        } else if !text.isEmpty {
            let mistake = "Error: "
            let isMistake = text.hasPrefix(mistake)
            Output.write(
                (isMistake ? "coffer: \(text.dropFirst(mistake.count))" : text) + "\n", to: STDERR_FILENO)
        }
        Glibc.exit(code.rawValue)
    }
}

/// The option for the profile's directory.
struct HomeOption: ParsableArguments {
    @Option(
        name: .customLong("home"),
        help: ArgumentHelp(
            "The profile's directory (default: $COFFER_HOME, or ~/.local/share/coffer).",
            valueName: "directory"))
    var home: String?

    func location() throws -> ProfileLocation {
        if let home {
            if home.isEmpty { throw ValidationError("--home is empty: give the profile's directory.") }
            return ProfileLocation(path: home)
        }
        guard let location = ProfileLocation.standard(Environment.value) else {
            throw ValidationError("HOME is not set. Give the profile's directory with --home.")
        }
        return location
    }
}

/// Options of all commands that use a profile.
struct ProfileOptions: ParsableArguments {
    @OptionGroup var home: HomeOption

    @Option(
        help: ArgumentHelp(
            "Read the passphrase from a file (“-” for standard input) instead of asking for it.",
            valueName: "file"))
    var passphraseFile: String?

    @Option(help: ArgumentHelp("Read the passphrase from an open file descriptor.", valueName: "number"))
    var passphraseDescriptor: Int32?

    func location() throws -> ProfileLocation { try home.location() }
}

/// The environment of this process.
enum Environment {
    static func value(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }
}
