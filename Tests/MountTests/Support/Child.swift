import Foundation
import Testing

/// A running child process.
final class Child {
    let process: pid_t
    private let name: String
    /// The reading ends of its standard output and standard error.
    private var ends: [Int32] = []
    private var texts: [Data] = [Data(), Data()]

    init(_ command: Command) throws {
        name = "\(command)"
        let (input, output, error) = (try Self.makePipe(), try Self.makePipe(), try Self.makePipe())
        var given: [(there: Int32, here: Int32)] = [(0, input.0), (1, output.1), (2, error.1)]
        given += command.descriptors.map { ($0.key, Self.outOfTheWay($0.value)) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor in given {
            posix_spawn_file_actions_adddup2(&actions, descriptor.here, descriptor.there)
        }
        let words = ([command.program] + command.arguments).map { strdup($0) } + [nil]
        let variables = Self.environment(command).map { strdup($0) } + [nil]
        defer { (words + variables).forEach { free($0) } }
        var process: pid_t = 0
        let result = posix_spawn(&process, command.program, &actions, nil, words, variables)
        self.process = process
        for descriptor in given { close(descriptor.here) }
        ends = [output.0, error.0]
        let text = Array(command.input.utf8)
        _ = write(input.1, text, text.count)
        close(input.1)
        try #require(result == 0, "\(name) cannot be started: \(String(cString: strerror(result)))")
    }

    deinit { ends.forEach { close($0) } }

    private static func environment(_ command: Command) -> [String] {
        var variables = [
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "USER": "tester",
        ]
        // Says where the thread sanitizer writes what it found.
        variables["TSAN_OPTIONS"] = ProcessInfo.processInfo.environment["TSAN_OPTIONS"]
        variables.merge(command.environment) { $1 }
        return variables.map { "\($0.key)=\($0.value)" }
    }

    /// Ends that other programs do not inherit.
    private static func makePipe() throws -> (Int32, Int32) {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }
        return (outOfTheWay(ends[0]), outOfTheWay(ends[1]))
    }

    /// A copy with a number that no program asks for.
    private static func outOfTheWay(_ descriptor: Int32) -> Int32 {
        fcntl(descriptor, F_DUPFD_CLOEXEC, 100)
    }

    /// Waits until the process has ended and every holder has closed its output.
    func wait(seconds: Int = 300) throws -> Command.Result {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while ends.contains(where: { $0 >= 0 }) {
            guard ContinuousClock.now < deadline else {
                kill(process, SIGKILL)
                waitpid(process, nil, 0)
                throw Command.Stuck(
                    description: "\(name) did not end, or its output stayed open, for \(seconds) s: \(said)")
            }
            take(milliseconds: 500)
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7f
        return Command.Result(
            status: signal == 0 ? (status >> 8) & 0xff : -signal,
            output: String(decoding: texts[0], as: UTF8.self),
            error: String(decoding: texts[1], as: UTF8.self))
    }

    /// Waits until it has printed a line that contains a text.
    func waitForLine(_ text: String) throws {
        try wait(for: "“\(text)”") { String(decoding: texts[0], as: UTF8.self).contains(text) }
    }

    /// Waits until it has printed a text as an error.
    func waitForError(_ text: String) throws {
        try wait(for: "“\(text)”") { String(decoding: texts[1], as: UTF8.self).contains(text) }
    }

    private func wait(for what: String, _ isThere: () -> Bool) throws {
        let deadline = ContinuousClock.now + .seconds(180)
        while !isThere() {
            try #require(
                ContinuousClock.now < deadline && ends[0] >= 0, "\(name) never said \(what): \(said)")
            take(milliseconds: 500)
        }
    }

    /// Waits until it has printed a number of whole lines, and returns all that it has printed.
    func waitForLines(_ count: Int) throws -> [String] {
        try wait(for: "\(count) lines") { texts[0].count { $0 == UInt8(ascii: "\n") } >= count }
        return String(decoding: texts[0], as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Waits until it has printed a whole line, and returns that without its newline.
    func waitForFirstLine() throws -> String {
        try waitForLine("\n")
        return String(decoding: texts[0].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    private var said: String { texts.map { String(decoding: $0, as: UTF8.self) }.joined() }

    /// Reads what the process has written meanwhile.
    private func take(milliseconds: Int32) {
        var wanted = ends.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        guard poll(&wanted, 2, milliseconds) > 0 else { return }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        for (index, end) in ends.enumerated() where end >= 0 && wanted[index].revents != 0 {
            let count = read(end, &buffer, buffer.count)
            if count > 0 {
                texts[index].append(contentsOf: buffer.prefix(count))
            } else if count == 0 || errno != EINTR {
                close(end)
                ends[index] = -1
            }
        }
    }
}
