package import CofferFormat
package import CofferRemote
package import CofferSync
package import CofferSystem
package import CofferTrust

/// A failure of a command or of the mount; its description tells a user what happened and what to do next.
///
/// The first cases are failures by subject, the others those of the layers below.
package enum ClientError: Error {
    case profile(ProfileError)
    case vaultName(VaultNameError)
    case mount(MountError)
    case remoteSetting(RemoteSettingError)
    case member(MemberError)
    case joining(JoiningError)
    case device(DeviceError)
    case content(ContentError)
    case recovery(RecoveryError)
    case export(ExportError)
    case control(ControlError)
    case locking(LockingError)
    case system(SystemError)
    case vault(FileSystemError)
    /// A key or a change of members is not trusted or not allowed.
    case trust(TrustError)
    /// A vault cannot be synced.
    case sync(vault: String, SyncError)
    /// The remote failed.
    case remote(RemoteError)
    /// The cipher cannot open what it has just sealed.
    case cipherFailed
}

extension ClientError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .profile(let error): "\(error)"
        case .vaultName(let error): "\(error)"
        case .mount(let error): "\(error)"
        case .remoteSetting(let error): "\(error)"
        case .member(let error): "\(error)"
        case .joining(let error): "\(error)"
        case .device(let error): "\(error)"
        case .content(let error): "\(error)"
        case .recovery(let error): "\(error)"
        case .export(let error): "\(error)"
        case .control(let error): "\(error)"
        case .locking(let error): "\(error)"
        case .system(let error): "\(error)."
        case .vault(let error): "\(error.summary)."
        case .trust(let error): "Not possible: \(error)."
        case .sync(let vault, .membership(.postponed(let what, let member, let reason))):
            """
            “\(vault)”: \(what) is saved, and will be done once the remote accepts it (\(reason)). To cancel it, use: \
            \(Self.cancelling(member, in: vault))
            """
        case .sync(let vault, .membership(let error)): "“\(vault)”: \(error)."
        case .sync(let vault, let error): "“\(vault)” cannot be synced: \(error)."
        case .remote(let error): "Remote error: \(error)."
        case .cipherFailed:
            "The cipher failed to open data that it had sealed. The memory or processor may be defective."
        }
    }

    /// The command that cancels a change of the members which waits for the remote.
    static func cancelling(_ member: String, in vault: String) -> String {
        "coffer member cancel \(ShellWord.quoted(vault)) \(ShellWord.quoted(member))"
    }

    /// The exit code of `coffer` for this error, from sysexits.h; documented in the manual.
    package var exitCode: Int32 {
        switch self {
        case .profile(let error): error.exitCode
        case .vaultName(let error): error.exitCode
        case .mount(let error): error.exitCode
        case .remoteSetting(let error): error.exitCode
        case .member(let error): error.exitCode
        case .joining(let error): error.exitCode
        case .device(let error): error.exitCode
        case .content(let error): error.exitCode
        case .recovery(let error): error.exitCode
        case .export(let error): error.exitCode
        case .control(let error): error.exitCode
        case .locking(let error): error.exitCode
        case .vault(.damaged), .vault(.format): 65  // EX_DATAERR
        case .system, .vault: 74  // EX_IOERR
        case .trust(.notAnInvite), .trust(.newerInvite), .trust(.notACard): 65  // EX_DATAERR
        case .trust: 77  // EX_NOPERM
        case .sync(_, .membership(.postponed)): 75  // EX_TEMPFAIL
        case .sync(_, .membership(.nothingPending)): 66  // EX_NOINPUT
        case .sync(_, .membership(.refused)), .sync(_, .membership(.removed)), .sync(_, .membership(.left)),
            .sync(_, .membership(.revoked)), .sync(_, .membership(.keysReplaced)), .sync(_, .notMember):
            77  // EX_NOPERM
        case .sync, .remote: 74  // EX_IOERR
        case .cipherFailed: 76  // EX_PROTOCOL
        }
    }
}

extension ClientError: LoggedError {
    package var logText: LogText {
        switch self {
        case .system(let error): "\(error)"
        case .profile(let error): "\(kindOf: error)"
        case .vaultName(let error): "\(kindOf: error)"
        case .mount(let error): "\(kindOf: error)"
        case .remoteSetting(let error): "\(kindOf: error)"
        case .member(let error): "\(kindOf: error)"
        case .joining(let error): "\(kindOf: error)"
        case .device(let error): "\(kindOf: error)"
        case .content(let error): "\(kindOf: error)"
        case .recovery(let error): "\(kindOf: error)"
        case .export(let error): "\(kindOf: error)"
        case .control(let error): "\(kindOf: error)"
        case .locking(let error): "\(kindOf: error)"
        case .vault(let error): "\(kindOf: error)"
        case .trust(let error): "\(kindOf: error)"
        case .sync(_, let error): "\(error)"
        case .remote(let error): "\(error)"
        case .cipherFailed: "the cipher failed"
        }
    }
}

/// Runs system calls, and wraps an error that they throw in `.system`.
package func systemCalls<Result: ~Copyable>(
    _ body: () throws(SystemError) -> Result
) throws(ClientError) -> Result {
    do throws(SystemError) { return try body() } catch { throw .system(error) }
}
