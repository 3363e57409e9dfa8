package import CofferFacts
package import CofferFormat
package import CofferStore

/// Why an operation on a vault failed, as a fact; CofferFUSE maps each case to an errno.
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
    /// The disk or the index failed.
    case store(StoreError)

    /// A phrase for users.
    package var summary: String {
        switch self {
        case .damaged(let place): "\(place) is damaged"
        case .store(let error): "\(error)"
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

    init(_ error: StoreError) {
        self =
            switch error {
            case .noSpace: .noSpace
            case .damaged(let place): .damaged(place: place)
            case .stopped: .readOnly
            case .system, .format, .index: .store(error)
            }
    }
}

/// Runs calls of a commit recorder and turns their errors into the vault's.
func sealing<Result>(_ body: () throws(SealingError) -> Result) throws(FileSystemError) -> Result {
    do throws(SealingError) { return try body() } catch { throw .notSealed(error) }
}

/// Runs calls of the store and turns their errors into the vault's.
@inline(__always)
func storing<Result>(_ body: () throws(StoreError) -> Result) throws(FileSystemError) -> Result {
    do throws(StoreError) {
        return try body()
    } catch {
        throw FileSystemError(error)
    }
}
