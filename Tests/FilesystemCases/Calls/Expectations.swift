internal import Glibc

/// What a case expected and did not find.
struct CaseFailure: Error, CustomStringConvertible {
    let description: String

    init(_ message: String, _ line: UInt) {
        description = "\(message) (line \(line))"
    }
}

/// Requires a condition.
func expect(_ condition: Bool, _ message: @autoclosure () -> String, line: UInt = #line) throws {
    guard condition else { throw CaseFailure(message(), line) }
}

/// Requires two equal values.
func expectEqual<Value: Equatable>(
    _ found: Value, _ expected: Value, _ what: String = "value", line: UInt = #line
) throws {
    guard found != expected else { return }
    throw CaseFailure("\(what): expected \(brief(expected)), found \(brief(found))", line)
}

/// Requires that a call fails with one of the given error numbers.
func expectFailure<Value>(_ codes: Int32..., line: UInt = #line, of body: () throws -> Value) throws {
    let expected = codes.map { PosixError.name(of: $0) }.joined(separator: " or ")
    do {
        _ = try body()
    } catch let error as PosixError {
        guard !codes.contains(error.code) else { return }
        throw CaseFailure("expected \(expected), got \(error)", line)
    }
    throw CaseFailure("expected \(expected), but the call succeeded", line)
}

private func brief<Value>(_ value: Value) -> String {
    let text = "\(value)"
    return text.utf8.count <= 160 ? text : "\(text.prefix(160))… (\(text.utf8.count) characters)"
}

/// Waits until a timestamp taken now is later than all that were taken before.
///
/// Filesystems stamp with the kernel's coarse clock, or with the exact one if the times were just read:
/// once the coarse clock has passed what the exact one said, both give later times.
func tick() {
    let now = time(of: CLOCK_REALTIME)
    repeat { usleep(1_000) } while time(of: CLOCK_REALTIME_COARSE) <= now
}

private func time(of clock: clockid_t) -> Timestamp {
    var time = timespec()
    clock_gettime(clock, &time)
    return Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
}
