internal import CFilesystemCalls
internal import Glibc

/// A system call that failed, with its error number.
struct PosixError: Error, Equatable, CustomStringConvertible {
    let call: String
    let code: Int32

    var description: String { "\(call): \(PosixError.name(of: code))" }

    /// "ENOENT" for 2, "success" for 0.
    static func name(of code: Int32) -> String {
        code == 0 ? "success" : String(cString: linux_error_name(code))
    }
}

/// The result of a call that returns -1 on failure.
@discardableResult
func check<Number: SignedInteger>(_ call: String, _ result: Number) throws(PosixError) -> Number {
    guard result < 0 else { return result }
    throw PosixError(call: call, code: errno)
}
