package import Synchronization

/// A log of what the process does and why it waits, for finding faults; off until `start` is called.
///
/// A line tells no name, path, key, or content: `LogText` accepts literals, numbers, and types that were made
/// for it, but no strings. While the log is off, a call costs one relaxed load, and its text is not made.
package enum DebugLog {
    /// How important a line is.
    package enum Level: UInt8, CaseIterable, Comparable, Sendable {
        case error = 1
        case warning, info, debug, trace

        /// Whether a line of level `one` is more important than one of level `other`.
        package static func < (one: Level, other: Level) -> Bool { one.rawValue < other.rawValue }
    }

    /// What a line is about.
    package enum Subject: String, Sendable {
        case mount, control, sync, remote, commit, space, wait
    }

    /// Receives each line; any thread may call it.
    package typealias Sink = @Sendable (Level, Subject, _ text: String) -> Void

    /// The least important level that is logged; 0 while the log is off.
    @usableFromInline static let threshold = Atomic<UInt8>(0)
    private static let sink = Mutex<Sink?>(nil)

    /// Turns the log on.
    ///
    /// - Parameter level: The least important level to log.
    package static func start(_ level: Level, _ sink: @escaping Sink) {
        self.sink.withLock { $0 = sink }
        threshold.store(level.rawValue, ordering: .relaxed)
    }

    /// Turns the log off.
    package static func stop() {
        threshold.store(0, ordering: .relaxed)
        sink.withLock { $0 = nil }
    }

    /// Whether lines of a level are logged.
    @inlinable
    package static func isOn(_ level: Level) -> Bool {
        level.rawValue <= threshold.load(ordering: .relaxed)
    }

    /// Logs a line; does nothing, and does not make its text, if its level is off.
    @inlinable
    package static func log(_ level: Level, _ subject: Subject, _ text: @autoclosure () -> LogText) {
        if isOn(level) { write(level, subject, text()) }
    }

    @usableFromInline
    static func write(_ level: Level, _ subject: Subject, _ text: LogText) {
        sink.withLock { $0 }?(level, subject, text.text)
    }

    // MARK: Waits

    /// What a thread or a task waits for.
    package enum Obstacle: String, LogWord {
        case disk = "the disk"
        case lock = "a lock"
        case remote = "the remote"
        case names = "names that an incoming change holds"
    }

    /// How long a wait must be to be logged, in nanoseconds.
    @usableFromInline static let longWait: Int64 = 100_000_000

    /// Runs `body`, which may wait; logs a wait of more than 100 ms at level debug.
    @inlinable
    package static func waiting<Value: ~Copyable, Failure: Error>(
        for obstacle: Obstacle, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let timer = LogTimer(.debug)
        defer { waited(for: obstacle, timer) }
        return try body()
    }

    /// Logs the time since the timer's start as a wait, if it is more than 100 ms.
    @inlinable
    package static func waited(for obstacle: Obstacle, _ timer: LogTimer) {
        guard let start = timer.start else { return }
        let time = Clock.monotonic - start
        if time > longWait { write(.debug, .wait, "waited \(nanoseconds: time) for \(obstacle)") }
    }
}

/// Measures how long something takes, for a line of the debug log; reads no clock while the log is off.
package struct LogTimer: Sendable {
    @usableFromInline let start: Int64?

    /// The time since the start, in nanoseconds; 0 if it is not measured.
    package var elapsed: Int64 { start.map { Clock.monotonic - $0 } ?? 0 }

    /// Starts to measure if `level` is logged.
    @inlinable
    package init(_ level: DebugLog.Level) {
        start = DebugLog.isOn(level) ? Clock.monotonic : nil
    }
}

/// A word in the debug log: an enumeration whose raw values are fixed.
package protocol LogWord: RawRepresentable<String>, Sendable {}

/// An error that the debug log may tell, without the names and paths that its description has.
package protocol LoggedError: Error {
    /// The error without names and paths.
    var logText: LogText { get }
}

/// The text of a line in the debug log.
package struct LogText: ExpressibleByStringInterpolation, Sendable {
    let text: String

    /// Makes a text of a literal.
    package init(stringLiteral text: StaticString) {
        self.text = "\(text)"
    }

    /// Makes a text of literals and values.
    package init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.text
    }

    /// Gathers the parts of a text.
    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        /// Starts with an empty text.
        package init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 8 * interpolationCount)
        }

        /// Appends a literal.
        package mutating func appendLiteral(_ literal: StaticString) { text += "\(literal)" }

        /// A number.
        package mutating func appendInterpolation(_ number: some BinaryInteger) { text += "\(number)" }

        /// A word of a fixed set.
        package mutating func appendInterpolation(_ word: some LogWord) { text += word.rawValue }

        /// Another text.
        package mutating func appendInterpolation(_ part: LogText) { text += part.text }

        /// An error, without names and paths.
        package mutating func appendInterpolation(_ error: some LoggedError) { text += error.logText.text }

        /// The time since the timer's start, in milliseconds.
        package mutating func appendInterpolation(_ timer: LogTimer) {
            appendInterpolation(nanoseconds: timer.elapsed)
        }

        /// A time in milliseconds, to a tenth.
        package mutating func appendInterpolation(nanoseconds: Int64) {
            let tenths = (nanoseconds + 50_000) / 100_000
            text += "\(tenths / 10).\(tenths % 10) ms"
        }

        /// A time in milliseconds, to a tenth.
        package mutating func appendInterpolation(_ duration: Duration) {
            let (seconds, attoseconds) = duration.components
            appendInterpolation(nanoseconds: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        }

        /// The name of a value's type, and, if it is a case with associated values, that of the case.
        package mutating func appendInterpolation(kindOf value: Any) {
            text += "\(type(of: value))"
            let mirror = Mirror(reflecting: value)
            if mirror.displayStyle == .enum, let name = mirror.children.first?.label { text += ".\(name)" }
        }

        /// The beginning of an id that is random, and so tells nothing.
        package mutating func appendInterpolation(id: UInt64) {
            let digits = String(id >> 32, radix: 16)
            text += String(repeating: "0", count: 8 - digits.count) + digits
        }
    }
}

extension SystemError: LoggedError {
    /// The call and its errno, without its subject.
    package var logText: LogText { "a system call failed with errno \(code)" }
}
