package import CofferSystem

/// Why a remote did not do what was asked.
///
/// Unless the case says that nothing changed, a put or delete may have taken effect, or may still do so
/// later.
package enum RemoteError: Error, Equatable {
    /// There is no object with that name. Nothing changed.
    case absent
    /// An object with that name exists, perhaps from an earlier attempt of the same caller. Nothing changed.
    case exists
    /// The remote does not answer, or the vault is not in its place: no network, not mounted.
    case unreachable(String)
    /// The remote answered, but failed: an input/output error, a meaningless answer.
    case failed(String)
    /// The remote is overloaded; retry, but not before this time has passed.
    case busy(after: Duration?)
    /// The object ended before its stated size.
    case short(expected: Int, got: Int)
    /// The remote is read-only, at least for this user. Nothing changed.
    case readOnly
    /// There is no space for the object. Nothing changed.
    case full
    /// The object, or the requested range, exceeds `limits`. Nothing changed.
    case tooLarge(byteCount: Int, limit: Int)
    /// The remote does not allow the call, or something that is not an object is in the way. Nothing changed.
    case refused(String)
    /// The remote cannot do this. Nothing changed.
    case unsupported(String)
    /// The bytes to put could not be read on this machine. Nothing changed.
    case unreadable(SystemError)
    /// The task was cancelled.
    case cancelled

    /// Whether the same request may succeed later without anyone's action.
    package var canRetryHelp: Bool {
        switch self {
        case .unreachable, .failed, .busy, .short: true
        case .absent, .exists, .readOnly, .full, .tooLarge, .refused, .unsupported, .unreadable, .cancelled:
            false
        }
    }
}

extension RemoteError: LoggedError {
    /// Without the reason, which may name a path or an address.
    package var logText: LogText {
        switch self {
        case .absent: "absent"
        case .exists: "exists"
        case .unreachable: "unreachable"
        case .failed: "failed"
        case .busy(let after?): "busy for \(after)"
        case .busy(nil): "busy"
        case .short(let expected, let got): "\(got) of \(expected) bytes"
        case .readOnly: "read-only"
        case .full: "full"
        case .tooLarge(let count, let limit): "\(count) bytes of at most \(limit)"
        case .refused: "refused"
        case .unsupported: "unsupported"
        case .unreadable(let error): "unreadable: \(error)"
        case .cancelled: "cancelled"
        }
    }
}

extension RemoteError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .absent: "there is no such object"
        case .exists: "the object exists already"
        case .unreachable(let reason): "the remote cannot be reached: \(reason)"
        case .failed(let reason): "the remote failed: \(reason)"
        case .busy(let after?) where after >= .seconds(1):
            "the remote is overloaded, and asks for a pause of \(after.components.seconds) s"
        case .busy: "the remote is overloaded"
        case .short(let expected, let got): "the object ended after \(got) of \(expected) bytes"
        case .readOnly: "the remote is read-only"
        case .full: "the remote is full"
        case .tooLarge(let count, let limit): "\(count) bytes exceed the limit of \(limit)"
        case .refused(let reason): "the remote refused: \(reason)"
        case .unsupported(let what): "the remote cannot do this: \(what)"
        case .unreadable(let error): "the bytes to send cannot be read: \(error)"
        case .cancelled: "it was cancelled"
        }
    }
}
