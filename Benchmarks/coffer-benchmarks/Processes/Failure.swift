internal import Glibc

/// An error that stops the benchmark, as text.
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

/// Returns the result of a system call, or throws if it is -1.
@discardableResult
func check<Value: SignedInteger>(_ value: Value, _ call: @autoclosure () -> String) throws -> Value {
    if value < 0 { throw Failure(call: call()) }
    return value
}
