package import CofferSystem

/// A failure of the exchange between a command and a mount.
package enum ControlError: Error {
    /// The mount is of an older version, whose control protocol differs.
    case olderMount
    /// The mount performed the request, and answered with a failure.
    case answered(code: Int32, message: String)
    /// The answer does not fit the request.
    case otherAnswer
    case malformed
    case notEncodable(String)
    /// The mount's process does not accept connections.
    case silent(SystemError)
    case ended
    /// The mount that was reached serves another profile, as the mount found out.
    case notThisProfile
    /// The mount that was reached serves another profile, as the command found out.
    case otherProfile
    /// The process that answers belongs to another user.
    case otherUser(Int64)
    /// The lock's note names a socket that no mount of this profile has.
    case otherSocket(String)
    /// The profile's lock file is a hard link to that of another profile.
    case linkedLock(path: String)
    /// There is no private directory for the mount's socket.
    case noDirectory
}

extension ClientError {
    /// Whether a request to a mount may have been performed, although no answer arrived.
    package var leavesOpenWhatAMountDid: Bool {
        switch self {
        case .control(.ended), .control(.malformed), .control(.otherAnswer), .system: true
        default: false
        }
    }
}

extension ControlError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .olderMount: "The mount is of an older version of Coffer. Unmount it, and mount again."
        case .answered(_, let message): message
        case .otherAnswer:
            "The mount sent an answer that does not fit the request. Update coffer, and remount."
        case .malformed:
            "A message between the mount and this command is malformed. Update coffer, and remount."
        case .notEncodable(let reason): "A message to the mount could not be encoded: \(reason)"
        case .silent(let error):
            """
            The mount of this profile does not answer (\(error)). Try again later, or end it with: coffer \
            unmount
            """
        case .ended: "The mount ended before it answered. Mount again, and retry."
        case .notThisProfile: "The mount that answered serves another profile. Nothing was done."
        case .otherProfile: "The mount that answered serves another profile. Nothing was sent to it."
        case .otherUser(let peer):
            "Another user (\(peer)) holds the profile. Nothing was sent to that user."
        case .otherSocket(let path):
            """
            The profile's lock names a socket that is not one of its mounts: \(path). End the process that \
            holds the lock, and try again.
            """
        case .linkedLock(let path):
            """
            \(path) is also the lock of another profile, as after “cp -al”, and that profile is in use. \
            Replace it with a copy: cp lock lock.new && mv lock.new lock
            """
        case .noDirectory:
            """
            The mount has no private directory for its socket. Set XDG_RUNTIME_DIR to a directory of your \
            own.
            """
        }
    }

    var exitCode: Int32 {
        switch self {
        case .answered(let code, _): code
        case .olderMount, .otherAnswer, .malformed, .notEncodable, .silent, .ended, .notThisProfile,
            .otherProfile, .otherUser, .otherSocket, .linkedLock, .noDirectory:
            76  // EX_PROTOCOL
        }
    }
}
