internal import ArgumentParser
internal import CofferClient
internal import CofferSystem
internal import Glibc

/// Options for the debug log of a mount.
struct LogOptions: ParsableArguments {
    /// The levels, as arguments.
    enum Level: String, ExpressibleByArgument, CaseIterable {
        case error, warning, info, debug, trace

        var level: DebugLog.Level {
            switch self {
            case .error: .error
            case .warning: .warning
            case .info: .info
            case .debug: .debug
            case .trace: .trace
            }
        }
    }

    @Option(
        help: ArgumentHelp(
            "Log what the mount does and what it waits for, without names and keys: error, warning, info, debug or trace (default: $COFFER_LOG_LEVEL, or no log).",
            valueName: "level"))
    var logLevel: Level?

    @Option(
        help: ArgumentHelp(
            "The file to append the log to (default: standard error in the foreground, otherwise the system's log).",
            valueName: "file"),
        completion: .file())
    var logFile: String?

    /// The options of a process that takes over from this one, whose working directory may differ.
    var arguments: [String] {
        (logLevel.map { ["--log-level", $0.rawValue] } ?? [])
            + (logFile.map { ["--log-file", Directory.absolute($0)] } ?? [])
    }

    /// The level that is asked for; nil for no log.
    func level(_ environment: (String) -> String?) throws -> Level? {
        if let logLevel { return logLevel }
        guard let text = environment("COFFER_LOG_LEVEL"), !text.isEmpty else { return nil }
        guard let level = Level(rawValue: text) else {
            throw ValidationError(
                "COFFER_LOG_LEVEL is “\(text)”. Set it to error, warning, info, debug or trace, or to nothing."
            )
        }
        return level
    }

    /// Starts the log, if one is asked for.
    ///
    /// - Parameter inForeground: Whether it goes to standard error unless a file is given.
    func start(_ environment: (String) -> String?, inForeground: Bool) throws {
        guard let level = try level(environment)?.level else { return }
        if let logFile {
            let file: LogFile
            do throws(SystemError) { file = try LogFile(logFile) } catch { throw ClientError.system(error) }
            DebugLog.start(level) { file.write($0, $1, $2) }
        } else if inForeground {
            DebugLog.start(level) { level, subject, text in
                Output.write(LogFile.line(level, subject, text), to: STDERR_FILENO)
            }
        } else {
            DebugLog.start(level, SystemLog.write)
        }
    }
}

/// A file that the debug log is appended to.
private final class LogFile: Sendable {
    private let descriptor: Descriptor

    init(_ path: String) throws(SystemError) {
        descriptor = try Descriptor.open(path, [.writeOnly, .create, .append])
    }

    /// Appends a line; one call of write(2), so that lines of several threads do not mix.
    func write(_ level: DebugLog.Level, _ subject: DebugLog.Subject, _ text: String) {
        Output.write(Self.line(level, subject, text), to: descriptor.number)
    }

    /// A line with the time in UTC: “2026-03-01T12:34:56.789Z info sync: …”.
    static func line(_ level: DebugLog.Level, _ subject: DebugLog.Subject, _ text: String) -> String {
        let now = Clock.realTime
        var seconds = time_t(now / 1_000_000_000)
        var time = unsafe tm()
        unsafe gmtime_r(&seconds, &time)
        let date = unsafe [time.tm_year + 1900, time.tm_mon + 1, time.tm_mday].map { digits($0, 2) }
        let clock = unsafe [time.tm_hour, time.tm_min, time.tm_sec].map { digits($0, 2) }
        func digits(_ number: some BinaryInteger, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let milliseconds = digits(now / 1_000_000 % 1000, 3)
        return
            "\(date.joined(separator: "-"))T\(clock.joined(separator: ":")).\(milliseconds)Z \(level) \(subject.rawValue): \(text)\n"
    }
}
