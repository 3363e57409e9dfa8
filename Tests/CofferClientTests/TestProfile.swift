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

/// A directory that goes away with this value.
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
    private let directory: TemporaryDirectory
    let location: ProfileLocation

    /// Makes a profile, whose passphrase costs as little as the format allows.
    init(hint: String? = nil, vault: String = "Personal", passphrase: String = passphrase) throws {
        directory = try TemporaryDirectory()
        location = ProfileLocation(path: "\(directory.path)/profile")
        try Profile.create(
            at: location, passphrase: secret(passphrase),
            Profile.Settings(
                name: "Alice", device: "laptop", hint: hint, strength: .interactive, firstVault: vault))
    }

    /// Unlocks; the lock is held as long as the result lives.
    ///
    /// - Parameter waits: Whether to wait until the lock is free. A program that other tests start holds it,
    ///   too, for the moment between fork(2) and exec(2).
    func unlock(
        _ passphrase: String = passphrase, waits: Bool = true
    ) throws(ProfileError) -> Profile {
        if waits { waitUntilFree() }
        return try Profile.unlock(location, try location.takeLock(), passphrase: secret(passphrase))
    }

    /// Whether the lock gets free.
    @discardableResult
    func waitUntilFree() -> Bool { waitUntil { !location.isLocked } }

    /// The vaults, opened.
    func open() throws(ProfileError) -> OpenVaults {
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
func profileError<Result>(_ body: () throws(ProfileError) -> Result) -> ProfileError? {
    do throws(ProfileError) {
        _ = try body()
        return nil
    } catch {
        return error
    }
}

extension ProfileError {
    /// The name of the case.
    var caseName: String {
        switch self {
        case .noProfile: "noProfile"
        case .profileExists: "profileExists"
        case .damagedProfile: "damagedProfile"
        case .newerProfile: "newerProfile"
        case .wrongPassphrase: "wrongPassphrase"
        case .tooManyAttempts: "tooManyAttempts"
        case .emptyPassphrase: "emptyPassphrase"
        case .passphrasesDiffer: "passphrasesDiffer"
        case .hintTellsPassphrase: "hintTellsPassphrase"
        case .invalidName: "invalidName"
        case .noTerminal: "noTerminal"
        case .noMemory: "noMemory"
        case .locked: "locked"
        case .noSuchVault: "noSuchVault"
        case .vaultExists: "vaultExists"
        case .invalidVaultName: "invalidVaultName"
        case .vaultNotEmpty: "vaultNotEmpty"
        case .mountPoint: "mountPoint"
        case .noFUSE: "noFUSE"
        case .notMounted: "notMounted"
        case .notPrivate: "notPrivate"
        case .notStored: "notStored"
        case .system: "system"
        case .vault: "vault"
        case .control: "control"
        case .trust: "trust"
        case .sync: "sync"
        case .remote: "remote"
        case .remoteURL: "remoteURL"
        case .noRemote: "noRemote"
        case .hasRemote: "hasRemote"
        case .otherRemote: "otherRemote"
        case .incompleteRemote: "incompleteRemote"
        case .vaultBusy: "vaultBusy"
        case .hasVault: "hasVault"
        case .notJoined: "notJoined"
        case .joinInterrupted: "joinInterrupted"
        case .noSuchMember: "noSuchMember"
        case .noSuchJoin: "noSuchJoin"
        case .remoteOnly: "remoteOnly"
        case .requestStays: "requestStays"
        case .ambiguousMember: "ambiguousMember"
        case .otherWords: "otherWords"
        case .noSuchConflict: "noSuchConflict"
        case .noSuchInvite: "noSuchInvite"
        case .othersAreMembers: "othersAreMembers"
        case .notOwner: "notOwner"
        case .olderMount: "olderMount"
        case .noSuchPath: "noSuchPath"
        case .notPinned: "notPinned"
        case .notFetched: "notFetched"
        }
    }
}
