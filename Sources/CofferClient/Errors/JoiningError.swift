internal import CofferRemote
package import CofferSync

/// A failure to join a vault, or to give that up.
package enum JoiningError: Error {
    /// This profile already has the vault that the invite names.
    case hasVault(name: String)
    /// Joining by an invite failed.
    case notJoined(JoinError)
    /// No vault of this name is waiting to be joined; nil if an invite was given instead of a name.
    case noSuchJoin(name: String?)
    /// The join was given up here, but the request is still at the remote.
    case requestStays(name: String, JoinError)
    /// The mount ended while a command waited to be admitted to a vault.
    case joinInterrupted
}

extension JoiningError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .hasVault(let name): "You already have this vault: on this device, its name is “\(name)”."
        case .notJoined(.remote(.unreachable(let reason))):
            """
            You cannot join: \(RemoteError.unreachable(reason)). The invite names the remote as the person who \
            invited you reaches it; if its path or URL is another one here, give that with --remote.
            """
        case .notJoined(let error): "You cannot join: \(error)."
        case .noSuchJoin(let name?):
            "You have not asked to join a vault named “\(name)”. List your requests with: coffer status"
        case .noSuchJoin(nil):
            "You have not asked to join with this invite. List your requests with: coffer status"
        case .requestStays(let name, let error):
            """
            You no longer ask to join “\(name)”, but your request could not be deleted at the remote, so you \
            may still become a member: \(error).
            """
        case .joinInterrupted:
            "The mount ended before you were admitted. Your request stays; the next mount continues to wait."
        }
    }

    var exitCode: Int32 {
        switch self {
        case .hasVault: 73  // EX_CANTCREAT
        case .notJoined(.remote): 74  // EX_IOERR
        case .notJoined(.noVault): 66  // EX_NOINPUT
        case .notJoined(let error): error.isNotArrived ? 75 : 77  // EX_TEMPFAIL, EX_NOPERM
        case .noSuchJoin: 66  // EX_NOINPUT
        case .requestStays: 74  // EX_IOERR
        case .joinInterrupted: 75  // EX_TEMPFAIL
        }
    }
}
