internal import Glibc

/// A running program in its own process group, so that Ctrl-C reaches only this process.
final class ChildProcess {
    let id: pid_t
    private var exitCode: Int32?

    /// Starts the program; its standard output and error go to `output`, which the caller still owns.
    init(_ command: Command, output: Int32) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let input = try Self.descriptor(reading: command.input)
        defer { close(input) }
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, output, 2)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // This process blocks the signals that end it; its children must not.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))

        let arguments = ([command.program] + command.arguments).map { strdup($0) } + [nil]
        let environment = Self.environment(command.environment).map { strdup($0) } + [nil]
        defer { for text in arguments + environment { free(text) } }
        var process: pid_t = 0
        let code = posix_spawnp(&process, command.program, &actions, &attributes, arguments, environment)
        guard code == 0 else { throw Failure("\(command.program): \(String(cString: strerror(code)))") }
        id = process
        Cleanup.shared.started(process)
    }

    /// Waits for the end; returns the exit code, or 128 plus the number of the signal.
    func wait() -> Int32 {
        if let exitCode { return exitCode }
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0, errno == EINTR {}
        return ended(status)
    }

    /// Returns the exit code if the program has ended.
    func exitCodeIfEnded() -> Int32? {
        if let exitCode { return exitCode }
        var status: Int32 = 0
        return waitpid(id, &status, WNOHANG) == id ? ended(status) : nil
    }

    private func ended(_ status: Int32) -> Int32 {
        Cleanup.shared.ended(id)
        let signal = status & 0x7F
        let code = signal == 0 ? (status >> 8) & 0xFF : 128 + signal
        exitCode = code
        return code
    }

    /// Returns the reading end of a pipe that contains the text, which must be shorter than a pipe's 64 KiB.
    private static func descriptor(reading text: String) throws -> Int32 {
        if text.isEmpty { return try check(open("/dev/null", O_RDONLY | O_CLOEXEC), "open /dev/null") }
        let pipe = try Pipe()
        let bytes = Array(text.utf8)
        defer { close(pipe.writing) }
        try check(write(pipe.writing, bytes, bytes.count), "write to a pipe")
        return pipe.reading
    }

    private static func environment(_ additions: [String: String]) -> [String] {
        var values: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let parts = String(cString: text).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
            entry += 1
        }
        values.merge(additions) { _, new in new }
        return values.map { "\($0.key)=\($0.value)" }
    }
}
