package import CofferSystem

/// Why a remote did not do what it was asked.
///
/// Unless the case says that nothing was changed, a put or delete may have had its effect, or may still have it later.
package enum RemoteError: Error, Equatable {
    /// There is no object of that name. Nothing was changed.
    case absent
    /// There is an object of that name already, perhaps from an earlier attempt of one's own. Nothing was changed.
    case exists
    /// The remote cannot be reached, or the vault is not where it should be: not mounted, no network.
    case unreachable(String)
    /// The remote was reached and failed in itself: an input/output error, an answer that makes no sense.
    case failed(String)
    /// The remote has too much to do; ask again, not before that time.
    case busy(after: Duration?)
    /// The object ended before the bytes that it was said to have.
    case short(expected: Int, got: Int)
    /// The remote may be read only, by this user at least. Nothing was changed.
    case readOnly
    /// There is no room for the object. Nothing was changed.
    case full
    /// The object, or the range that is asked for, has more bytes than `limits` allow. Nothing was changed.
    case tooLarge(byteCount: Int, limit: Int)
    /// The remote does not allow it, or something that is no object is in the way. Nothing was changed.
    case refused(String)
    /// The remote cannot do that. Nothing was changed.
    case unsupported(String)
    /// The bytes to be put could not be read here. Nothing was changed.
    case unreadable(SystemError)
    /// The task was cancelled.
    case cancelled

    /// Whether the same request may succeed later without anybody doing anything about it.
    package var canRetryHelp: Bool {
        switch self {
        case .unreachable, .failed, .busy, .short: true
        case .absent, .exists, .readOnly, .full, .tooLarge, .refused, .unsupported, .unreadable, .cancelled:
            false
        }
    }
}

extension RemoteError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .absent: "there is no such object"
        case .exists: "there is such an object already"
        case .unreachable(let reason): "the remote cannot be reached: \(reason)"
        case .failed(let reason): "the remote failed: \(reason)"
        case .busy: "the remote has too much to do"
        case .short(let expected, let got): "the object ended after \(got) of \(expected) bytes"
        case .readOnly: "the remote can only be read"
        case .full: "the remote is full"
        case .tooLarge(let count, let limit): "\(count) bytes are more than the \(limit) that are allowed"
        case .refused(let reason): "the remote refused: \(reason)"
        case .unsupported(let what): "the remote cannot do this: \(what)"
        case .unreadable(let error): "what is to be sent cannot be read: \(error)"
        case .cancelled: "it was cancelled"
        }
    }
}
