internal import CofferClient
internal import CofferCrypto
internal import CofferSystem
internal import Glibc

/// Starts a mount in the background: the process that asked for the passphrase hands the profile's key and
/// lock to a fresh one, which has never seen the passphrase nor used the memory of Argon2id.
enum BackgroundMount {
    /// Returns when the mount serves.
    ///
    /// - Throws: What the new process could not do.
    static func start(
        _ profile: Profile, _ location: ProfileLocation, _ point: MountPoint, _ options: [String]
    ) throws {
        let keys = try ChildProcess.makePipe()
        let status = try ChildProcess.makePipe()
        let keyReader = Descriptor(owning: keys.reading)
        let keyWriter = Descriptor(owning: keys.writing)
        let statusReader = Descriptor(owning: status.reading)
        let arguments =
            ["mount", "--takes-over", "--home", location.path]
            + options.flatMap { ["-o", $0] } + ["--", point.path]
        do {
            let statusWriter = Descriptor(owning: status.writing)
            // The kernel lets the process group of autofs's daemon alone come by while it waits for the mount.
            try ChildProcess.startAgain(
                arguments, descriptors: [keyReader.number, statusWriter.number, profile.lockDescriptor],
                inNewSession: !point.isAutomount)
        }
        var key = profile.copyKey().withBytes { $0.array }
        defer { SecretBytes.wipe(&key) }
        try WholeFile.writeAll(key, to: keyWriter.number, subject: "mount in the background")
        if isatty(STDERR_FILENO) == 1, !hasAnswer(statusReader.number, withinMilliseconds: 3000) {
            Output.error(
                "Opening the vaults; after a crash, what was written last is recovered first …")
        }
        let bytes = try WholeFile.read(
            descriptor: statusReader.number, limit: 65_536, subject: "mount in the background")
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", maxSplits: 1)
        if lines.first == "serving" {
            for problem in lines.dropFirst() { Output.error("coffer: \(problem)") }
            return
        }
        guard lines.count == 2, let code = Int32(lines[0]) else {
            throw ProfileError.control("The mount ended before it could serve.")
        }
        Output.error("coffer: \(lines[1])")
        Glibc.exit(code)
    }

    /// Whether there is something to be read soon.
    private static func hasAnswer(_ descriptor: Int32, withinMilliseconds time: Int32) -> Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&waiting, 1, time) != 0
    }

    /// The new process's end.
    struct Channel: Sendable {
        private static let key: Int32 = 3
        private static let status: Int32 = 4
        private static let lock: Int32 = 5

        /// Opens the profile with the key and the lock that were left here.
        func takeOver(_ location: ProfileLocation) throws(ProfileError) -> Profile {
            var bytes: [UInt8]
            do throws(SystemError) {
                bytes = []
                while bytes.count < 32 {
                    var rest = [UInt8](repeating: 0, count: 32 - bytes.count)
                    let count = unsafe read(Self.key, &rest, rest.count)
                    guard count > 0 else { throw SystemError("read", code: EPIPE, on: "profile key") }
                    bytes += rest.prefix(count)
                    SecretBytes.wipe(&rest)
                }
            } catch {
                throw .system(error)
            }
            close(Self.key)
            return try Profile.open(
                location, FileLock(owning: Descriptor(owning: Self.lock)), key: SecretBytes(moving: &bytes))
        }

        /// Says that the mount serves, and lets go of the terminal and of who started it.
        ///
        /// - Parameter problems: For whoever started the mount to see.
        func announce(_ problems: [String]) {
            // Fails where it is in a session of its own already.
            _ = setsid()
            let null = unsafe open("/dev/null", O_RDWR)
            if null >= 0 {
                dup2(null, STDERR_FILENO)
                close(null)
            }
            Output.write((["serving"] + problems).joined(separator: "\n"), to: Self.status)
            close(Self.status)
            _ = unsafe chdir("/")
        }

        func fail(_ error: ProfileError) {
            Output.write("\(error.exitCode)\n\(error)", to: Self.status)
            close(Self.status)
        }
    }
}
