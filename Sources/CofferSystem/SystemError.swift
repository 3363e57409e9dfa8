internal import Glibc

/// A system call that failed: which one, with which errno, on what.
package struct SystemError: Error, Equatable, CustomStringConvertible {
    /// The call, as its man page names it.
    package let call: String
    /// The errno that it left.
    package let code: Int32
    /// The path or name that the call was about, if any.
    package let subject: String?

    package init(_ call: String, code: Int32, on subject: String? = nil) {
        self.call = call
        self.code = code
        self.subject = subject
    }

    /// The message of strerror(3), after the subject if there is one.
    package var description: String {
        let message = unsafe String(cString: strerror(code))
        guard let subject else { return "\(message) (\(call))" }
        return "\(subject): \(message)"
    }

    /// Whether the disk, or the user's quota, is full.
    package var isNoSpace: Bool { code == ENOSPC || code == EDQUOT }

    /// Whether the filesystem is read-only.
    package var isReadOnly: Bool { code == EROFS }

    /// The error of a call that has just returned -1.
    static func last(_ call: String, on subject: String? = nil) -> SystemError {
        SystemError(call, code: errno, on: subject)
    }
}

/// Repeats a call as long as a signal interrupts it; throws its errno if it returns -1.
@discardableResult
func retryingInterrupted<Result: FixedWidthInteger>(
    _ call: String, on subject: String? = nil, _ body: () -> Result
) throws(SystemError) -> Result {
    while true {
        let result = body()
        if result != -1 { return result }
        if errno != EINTR { throw .last(call, on: subject) }
    }
}

/// Repeats a call as long as a signal interrupts it; throws the errno if it returns -errno.
@discardableResult
func checkingNegative(
    _ call: String, on subject: String? = nil, _ body: () -> Int32
) throws(SystemError) -> Int32 {
    while true {
        let result = body()
        if result >= 0 { return result }
        if result != -EINTR { throw SystemError(call, code: -result, on: subject) }
    }
}
