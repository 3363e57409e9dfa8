internal import Glibc

/// Something that keeps the benchmark from going on, in words.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ text: String) {
        description = text
    }

    /// A system call that failed just now.
    init(call: String) {
        description = "\(call): \(String(cString: strerror(errno)))"
    }
}

/// Passes on what a system call returned, unless it is -1.
@discardableResult
func check<Value: SignedInteger>(_ value: Value, _ call: @autoclosure () -> String) throws -> Value {
    if value < 0 { throw Failure(call: call()) }
    return value
}
