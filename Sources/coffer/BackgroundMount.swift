internal import CofferClient
internal import CofferCrypto
internal import CofferSystem
internal import Glibc
internal import Synchronization

/// Starts a mount in the background.
///
/// The process that asked for the passphrase passes the profile's key and lock to a new one, which has never
/// seen the passphrase nor used the memory of Argon2id.
enum BackgroundMount {
    /// Starts the mount, and returns when it serves.
    ///
    /// Exits with the code and message of the new process if that fails.
    ///
    /// - Throws: If the new process could not be started, or ended without an answer.
    static func start(
        _ profile: Profile, _ location: ProfileLocation, _ point: MountPoint, _ options: [String],
        _ log: LogOptions
    ) throws {
        let keys = try ChildProcess.makePipe()
        let status = try ChildProcess.makePipe()
        let keyReader = Descriptor(owning: keys.reading)
        let keyWriter = Descriptor(owning: keys.writing)
        let statusReader = Descriptor(owning: status.reading)
        let arguments =
            ["mount", "--takes-over", "--home", location.path]
            + options.flatMap { ["-o", $0] } + log.arguments + ["--", point.path]
        do {
            let statusWriter = Descriptor(owning: status.writing)
            // While autofs waits for the mount, only the process group of its daemon can pass: stay in it.
            try ChildProcess.startAgain(
                arguments, descriptors: [keyReader.number, statusWriter.number, profile.lockDescriptor],
                inNewSession: !point.isAutomount)
        }
        var key = profile.copyKey().withBytes { $0.array }
        defer { SecretBytes.wipe(&key) }
        try WholeFile.writeAll(key, to: keyWriter.number, subject: "mount in the background")
        if isatty(STDERR_FILENO) == 1, !hasAnswer(statusReader.number, withinMilliseconds: 3000) {
            Output.error(
                "Opening the vaults. After a crash, this recovers the latest changes first …")
        }
        let bytes = try WholeFile.read(
            descriptor: statusReader.number, limit: 65_536, subject: "mount in the background")
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", maxSplits: 1)
        if lines.first == "serving" {
            for problem in lines.dropFirst() { Output.error("coffer: \(problem)") }
            return
        }
        guard lines.count == 2, let code = Int32(lines[0]) else {
            throw ClientError.mount(.endedEarly)
        }
        Output.error("coffer: \(lines[1])")
        Glibc.exit(code)
    }

    /// Whether the descriptor becomes readable in time.
    private static func hasAnswer(_ descriptor: Int32, withinMilliseconds time: Int32) -> Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&waiting, 1, time) != 0
    }

    /// The new process's end of the pipes.
    final class Channel: Sendable {
        private static let key: Int32 = 3
        private static let status: Int32 = 4
        private static let lock: Int32 = 5

        /// Whether the process that started this one still waits; afterwards, the number may be another file's.
        private let isOpen = Mutex(true)

        /// Opens the profile with the key and the lock from the inherited descriptors.
        func takeOver(_ location: ProfileLocation) throws(ClientError) -> Profile {
            // No program that this one starts may get them.
            for number in [Self.status, Self.lock] { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
            let key = try KeyPipe.read(Self.key)
            return try Profile.open(location, FileLock(owning: Descriptor(owning: Self.lock)), key: key)
        }

        /// Reports that the mount serves, and detaches from the terminal and from the process that started
        /// it.
        ///
        /// - Parameter problems: Problems for that process to print.
        func announce(_ problems: [String]) {
            // Fails if the process already leads a session.
            _ = setsid()
            let null = unsafe open("/dev/null", O_RDWR)
            if null >= 0 {
                dup2(null, STDERR_FILENO)
                close(null)
            }
            answer((["serving"] + problems).joined(separator: "\n"))
            _ = unsafe chdir("/")
        }

        /// Reports a failure to the process that started this one, if it still waits.
        func fail(_ error: ClientError) { answer("\(error.exitCode)\n\(error)") }

        private func answer(_ text: String) {
            isOpen.withLock { isOpen in
                guard isOpen else { return }
                Output.write(text, to: Self.status)
                close(Self.status)
                isOpen = false
            }
        }
    }
}
