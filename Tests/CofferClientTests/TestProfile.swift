import CofferCrypto
import CofferSystem
import CofferVault
import Foundation
import Testing

@testable import CofferClient

/// Secret bytes of a text.
func secret(_ text: String) -> SecretBytes {
    let bytes = Array(text.utf8)
    return SecretBytes(copying: bytes.span.bytes)
}

/// A directory that is removed with this value.
final class TemporaryDirectory {
    let path: String

    init() throws {
        var template = Array("\(NSTemporaryDirectory())/coffer-client-XXXXXX".utf8CString)
        path = String(cString: try #require(mkdtemp(&template)))
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A profile in a directory of its own.
final class TestProfile {
    static let passphrase = "correct horse"
    private let directory: TemporaryDirectory?
    let location: ProfileLocation

    /// A profile that exists already.
    init(at location: ProfileLocation) {
        directory = nil
        self.location = location
    }

    /// Makes a profile, whose passphrase costs as little as the format allows.
    init(hint: String? = nil, vault: String = "Personal", passphrase: String = passphrase) throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        location = ProfileLocation(path: "\(directory.path)/profile")
        try Profile.create(
            at: location, passphrase: secret(passphrase),
            Profile.Settings(
                name: "Alice", device: "laptop", hint: hint, strength: .interactive, firstVault: vault))
    }

    /// Makes a profile in another way.
    init(_ make: (ProfileLocation) throws -> Void) throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        location = ProfileLocation(path: "\(directory.path)/profile")
        try make(location)
    }

    /// The names of the vaults, as a passphrase shows them.
    func vaultNames(_ passphrase: String) throws -> [String] { try unlock(passphrase).vaults.map(\.name) }

    /// The name of the profile's owner.
    func personName() throws -> String { try unlock().name }

    /// Unlocks; the lock is held as long as the result lives.
    ///
    /// - Parameter waits: Whether to wait until the lock is free. A program that other tests start holds it,
    ///   too, for the moment between fork(2) and exec(2).
    func unlock(
        _ passphrase: String = passphrase, waits: Bool = true
    ) throws(ClientError) -> Profile {
        if waits { waitUntilFree() }
        return try Profile.unlock(location, try location.takeLock(), passphrase: secret(passphrase))
    }

    /// Waits until the lock is free; returns whether it became free.
    @discardableResult
    func waitUntilFree() -> Bool { waitUntil { !location.isLocked } }

    /// The vaults, opened.
    func open() throws(ClientError) -> OpenVaults {
        OpenVaults(try unlock(), problems: .init(), isReadOnly: false)
    }

    /// The profile key.
    func key() throws -> [UInt8] {
        let key = try unlock().copyKey()
        return key.withBytes { $0.array }
    }

    /// The bytes of the profile file.
    func bytes() throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: location.profile)))
    }

    func write(_ bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(filePath: location.profile))
        forgetAttempts()
    }

    /// Writes a changed profile with the checksum that fits it.
    func writeChecked(_ bytes: [UInt8]) throws {
        let content = Array(bytes.dropLast(ProfileFile.checksumByteCount))
        try write(content + Blake2b.hash(content, for: .profile))
    }

    func forgetAttempts() {
        try? FileManager.default.removeItem(atPath: location.attempts)
    }

    /// All files of the vaults, by path.
    func vaultFiles() throws -> [String: Data] {
        var files: [String: Data] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: location.vaults) {
            files[path] = try? Data(contentsOf: URL(filePath: "\(location.vaults)/\(path)"))
        }
        return files
    }
}

/// The error that a body throws; nil if it does not.
func clientError<Result>(_ body: () throws(ClientError) -> Result) -> ClientError? {
    do throws(ClientError) {
        _ = try body()
        return nil
    } catch {
        return error
    }
}

extension ClientError {
    /// The name of the case.
    var caseName: String {
        switch self {
        case .profile(.noProfile): "noProfile"
        case .profile(.profileExists): "profileExists"
        case .profile(.damagedProfile): "damagedProfile"
        case .profile(.newerProfile): "newerProfile"
        case .profile(.wrongPassphrase): "wrongPassphrase"
        case .profile(.tooManyAttempts): "tooManyAttempts"
        case .profile(.emptyPassphrase): "emptyPassphrase"
        case .profile(.passphrasesDiffer): "passphrasesDiffer"
        case .profile(.hintTellsPassphrase): "hintTellsPassphrase"
        case .profile(.invalidName): "invalidName"
        case .profile(.noTerminal): "noTerminal"
        case .profile(.noMemory): "noMemory"
        case .profile(.locked): "locked"
        case .profile(.moved): "moved"
        case .profile(.readOnlyDisk): "readOnlyDisk"
        case .vaultName(.noSuchVault): "noSuchVault"
        case .vaultName(.vaultExists): "vaultExists"
        case .vaultName(.invalidVaultName): "invalidVaultName"
        case .mount(.mountPoint): "mountPoint"
        case .remoteSetting(.failed): "remoteFailed"
        case .remoteSetting(.notSynced): "notSynced"
        case .remoteSetting(.noLogin): "noLogin"
        case .remoteSetting(.inMount): "inMount"
        case .remoteSetting(.notLoggedIn): "notLoggedIn"
        case .remoteSetting(.badLogin): "badLogin"
        case .mount(.noFUSE): "noFUSE"
        case .mount(.notMounted): "notMounted"
        case .profile(.notPrivate): "notPrivate"
        case .mount(.notStored): "notStored"
        case .system: "system"
        case .vault: "vault"
        case .control(.answered): "answered"
        case .control(.malformed): "malformed"
        case .control(.notEncodable): "notEncodable"
        case .control(.silent): "silent"
        case .control(.ended): "ended"
        case .control(.notThisProfile): "notThisProfile"
        case .control(.otherAnswer): "otherAnswer"
        case .control(.otherProfile): "otherProfile"
        case .control(.otherUser): "otherUser"
        case .control(.otherSocket): "otherSocket"
        case .control(.linkedLock): "linkedLock"
        case .control(.noDirectory): "noDirectory"
        case .cipherFailed: "cipherFailed"
        case .locking(.locked): "lockedProfile"
        case .locking(.notMounted): "nothingToLock"
        case .locking(.underWay): "lockingUnderWay"
        case .locking(.notPossible): "lockingNotPossible"
        case .locking(.inUse): "lockingInUse"
        case .locking(.commandUnderWay): "lockingCommandUnderWay"
        case .locking(.failedWrites): "lockingFailedWrites"
        case .locking(.replaced): "lockingReplaced"
        case .locking(.notClosed): "lockingNotClosed"
        case .locking(.lost): "lockingLost"
        case .locking(.notStored): "lockingNotStored"
        case .locking(.notWritten): "lockingNotWritten"
        case .recovery(.words): "words"
        case .recovery(.otherProfile): "otherProfileKey"
        case .recovery(.revokedKey): "revokedKey"
        case .recovery(.noRecoveryKey): "noRecoveryKey"
        case .recovery(.wrongPassphrase): "wrongBackupPassphrase"
        case .recovery(.cutBackup): "cutBackup"
        case .recovery(.damagedBackup): "damagedBackup"
        case .recovery(.newerBackup): "newerBackup"
        case .recovery(.noBackup): "noBackup"
        case .recovery(.isProfile): "isProfile"
        case .recovery(.fileExists): "fileExists"
        case .recovery(.inVault): "inVault"
        case .recovery(.noSuchKey): "noSuchKey"
        case .recovery(.tooManyKeys): "tooManyKeys"
        case .recovery(.noTerminal): "noRecoveryTerminal"
        case .export(let error): error.caseName
        case .profile(.strengthOutOfRange): "strengthOutOfRange"
        case .profile(.namesNotShareable): "namesNotShareable"
        case .profile(.noMoreVaults): "noMoreVaults"
        case .mount(.endedEarly): "endedEarly"
        case .member(.noSuchRole): "noSuchRole"
        case .trust: "trust"
        case .sync: "sync"
        case .remote: "remote"
        case .remoteSetting(.remoteURL): "remoteURL"
        case .remoteSetting(.noRemote): "noRemote"
        case .remoteSetting(.hasRemote): "hasRemote"
        case .remoteSetting(.otherRemote): "otherRemote"
        case .remoteSetting(.incompleteRemote): "incompleteRemote"
        case .remoteSetting(.vaultBusy): "vaultBusy"
        case .joining(.hasVault): "hasVault"
        case .joining(.notJoined): "notJoined"
        case .joining(.joinInterrupted): "joinInterrupted"
        case .member(.noSuchMember): "noSuchMember"
        case .joining(.noSuchJoin): "noSuchJoin"
        case .remoteSetting(.remoteOnly): "remoteOnly"
        case .joining(.requestStays): "requestStays"
        case .member(.ambiguousMember): "ambiguousMember"
        case .member(.otherWords): "otherWords"
        case .content(.noSuchConflict): "noSuchConflict"
        case .member(.noSuchInvite): "noSuchInvite"
        case .member(.ambiguousInvite): "ambiguousInvite"
        case .remoteSetting(.membersNotChanged): "membersNotChanged"
        case .remoteSetting(.othersAreMembers): "othersAreMembers"
        case .remoteSetting(.notOwner): "notOwner"
        case .control(.olderMount): "olderMount"
        case .content(.noSuchPath): "noSuchPath"
        case .content(.notPinned): "notPinned"
        case .content(.noHistory): "noHistory"
        case .content(.beforeHistory): "beforeHistory"
        case .content(.neverThere): "neverThere"
        case .content(.noSuchSnapshot): "noSuchSnapshot"
        case .content(.noSuchState): "noSuchState"
        case .content(.snapshotExists): "snapshotExists"
        case .content(.invalidSnapshotName): "invalidSnapshotName"
        case .content(.snapshotsLeft): "snapshotsLeft"
        case .content(.undoDisturbed): "undoDisturbed"
        case .content(.noSuchAuthor): "noSuchAuthor"
        case .content(.ambiguousAuthor): "ambiguousAuthor"
        case .content(.otherType): "otherType"
        case .content(.notFetched): "notFetched"
        case .device(let error): error.caseName
        }
    }
}

extension ExportError {
    /// The name of the case.
    var caseName: String {
        switch self {
        case .unreadable: "unreadableItem"
        case .tooLarge: "tooLargeForExport"
        case .fileExists: "exportExists"
        case .notFile: "exportNotFile"
        case .inVault: "exportInVault"
        case .terminal: "exportTerminal"
        case .interrupted: "exportInterrupted"
        case .recipientCount: "recipientCount"
        case .noExport: "noExport"
        case .newerExport: "newerExport"
        case .damagedHeader: "damagedHeader"
        case .wrongPassphrase: "wrongExportPassphrase"
        case .passphraseNeeded: "passphraseNeeded"
        case .recipientNeeded: "recipientNeeded"
        case .notRecipient: "notRecipient"
        case .cut: "cutExport"
        case .damaged: "damagedExport"
        case .trailing: "trailingExport"
        case .badArchive: "badArchive"
        case .badEntry: "badEntry"
        case .notOpened: "importNotOpened"
        }
    }
}

extension DeviceError {
    /// The name of the case.
    var caseName: String {
        switch self {
        case .address: "address"
        case .cannotListen: "cannotListen"
        case .cannotConnect: "cannotConnect"
        case .busy: "busy"
        case .noQuestion: "noQuestion"
        case .cutOff: "cutOff"
        case .noAnswer: "noAnswer"
        case .cancelled: "cancelled"
        case .codesDiffer: "codesDiffer"
        case .pairing: "pairing"
        case .alreadyAuthorized: "alreadyAuthorized"
        case .nameTaken: "nameTaken"
        case .notConfirmed: "notConfirmed"
        case .unknownDevice: "unknownDevice"
        case .revokedDevice: "revokedDevice"
        case .damagedTransfer: "damagedTransfer"
        case .otherPerson: "otherPerson"
        case .olderKeys: "olderKeys"
        case .listsDiffer: "listsDiffer"
        case .revokedHere: "revokedHere"
        case .noSuchDevice: "noSuchDevice"
        case .lastDevice: "lastDevice"
        case .thisDevice: "thisDevice"
        }
    }
}
