package import CofferSystem

/// Why an operation on a vault, or on its index and packs, failed, as a fact; CofferFUSE maps each case to an
/// errno.
package enum FileSystemError: Error {
    case notFound
    case alreadyExists
    case notDirectory
    case isDirectory
    case directoryNotEmpty
    case nameTooLong
    case invalidArgument
    case notPermitted
    case accessDenied
    case readOnly
    case crossVault
    case busy
    /// There is no space for the change; nothing changed.
    case noSpace
    case fileTooLarge
    case tooManyLinks
    case attributeNotFound
    case attributeTooLarge
    case bufferTooSmall
    case notSupported
    case beyondEnd
    case stale
    /// Bytes on disk are not those that were written; `place` names them.
    case damaged(place: String)
    /// The index or a pack has a format that this version does not know.
    case format(FormatError, place: String)
    /// A call of the operating system failed.
    case system(SystemError)
    /// A page of the index is not in memory, and the caller wanted to hear of that; nothing changed.
    case pageAbsent(AbsentPage)
    /// SQLite failed: a mistake in Coffer, or a broken index.
    case index(code: Int32, message: String)
    /// An earlier failure made further writing unsafe; reading still works.
    case stopped(reason: String)
    /// Content that is only on a remote cannot be fetched at present.
    case unreachable(reason: String)
    /// The remote answers, but a pack has not completely arrived there, or never will.
    case notArrived(PackID)
    /// A remote did not answer in time.
    case timedOut
    /// The data is sealed under an epoch whose keys this device lacks, possibly only for now.
    case keyMissing(Epoch)
    /// A commit of this device could not be sealed; requests of programs never fail with this error.
    case notSealed(SealingError)

    /// `.noSpace` if the disk is full, `.system` otherwise.
    package init(_ error: SystemError) {
        self = error.isNoSpace ? .noSpace : .system(error)
    }

    /// A phrase for users.
    package var summary: String {
        switch self {
        case .damaged(let place): "\(place) is damaged"
        case .format(.newerVersion(let found, let supported), let place):
            "\(place) has format \(found), and this version of coffer reads up to \(supported)"
        case .format(_, let place): "\(place) is damaged, or of an unexpected kind"
        case .system(let error): error.description
        case .pageAbsent: "a page of the index is not in memory"
        case .index(let code, let message): "the index cannot be used: \(message) (\(code))"
        case .stopped(let reason): "writing has stopped: \(reason)"
        case .unreachable(let reason): "it is not on this device, and cannot be fetched: \(reason)"
        case .notArrived(.nowhere): "the description of its content has not arrived at the remote"
        case .notArrived(let pack):
            "it is not on this device, and its remote pack \(pack) has not arrived at the remote"
        case .timedOut: "it is not on this device, and the remote does not answer"
        case .keyMissing(let epoch):
            "it is sealed with keys of epoch \(epoch.number) that this device does not have"
        case .readOnly: "the vaults are read-only: they were mounted that way, or writing has stopped"
        case .noSpace: "no space left on the disk that holds the profile"
        default: "\(self)"
        }
    }
}
