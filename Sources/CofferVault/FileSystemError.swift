package import CofferFacts
package import CofferFormat
package import CofferStore

/// Why an operation on a vault failed, as a fact; CofferFUSE turns each into its errno.
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
    /// Bytes on disk are not what was written; `place` names them.
    case damaged(place: String)
    /// What is on a remote alone cannot be had from there for now.
    case unreachable(reason: String)
    /// The remote answers, and does not have all of a pack, or not yet.
    case notArrived(PackID)
    /// A remote did not answer in time.
    case timedOut
    /// It is sealed under an epoch whose keys this device does not have, or not yet.
    case keyMissing(Epoch)
    /// A commit of this device could not be sealed; no program's request gets this.
    case notSealed(SealingError)
    /// The disk or the index failed.
    case store(StoreError)

    /// A phrase for people.
    package var summary: String {
        switch self {
        case .damaged(let place): "\(place) is damaged"
        case .store(let error): "\(error)"
        case .unreachable(let reason): "it is not on this device, and cannot be fetched: \(reason)"
        case .notArrived(.nowhere): "what says where it is at the remote has not arrived there"
        case .notArrived(let pack):
            "it is not on this device, and remote pack \(pack), which has it, has not arrived at the remote"
        case .timedOut: "it is not on this device, and the remote does not answer"
        case .keyMissing(let epoch):
            "it is sealed with keys of epoch \(epoch.number) that this device does not have"
        case .readOnly: "the vaults can only be read: they are mounted so, or writing has stopped"
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

/// Runs calls of a commit recorder and turns what they throw into the vault's errors.
func sealing<Result>(_ body: () throws(SealingError) -> Result) throws(FileSystemError) -> Result {
    do throws(SealingError) { return try body() } catch { throw .notSealed(error) }
}

/// Runs calls of the store and turns what they throw into the vault's errors.
@inline(__always)
func storing<Result>(_ body: () throws(StoreError) -> Result) throws(FileSystemError) -> Result {
    do throws(StoreError) {
        return try body()
    } catch {
        throw FileSystemError(error)
    }
}
