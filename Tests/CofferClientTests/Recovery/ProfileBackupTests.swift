import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTrust
import Foundation
import Synchronization
import Testing

@testable import CofferClient

/// Files that are, or are not, backups of a profile.
@Suite(.serialized) struct ProfileBackupTests {
    private static let path = "/b"

    private func backup(_ key: RecoveryKey? = nil) throws -> [UInt8] {
        let test = try TestProfile()
        defer { withExtendedLifetime(test) {} }
        let profile = try test.unlock()
        if let key { try profile.addRecoveryKey(key, passphrase: secret(TestProfile.passphrase)) }
        return try profile.makeBackup()
    }

    private func error(_ bytes: [UInt8]) -> ClientError? {
        clientError { () throws(ClientError) in try ProfileBackup(bytes, path: Self.path) }
    }

    @Test func aKeyOrThePassphraseOpensABackup() throws {
        let key = RecoveryKey()
        let backup = try ProfileBackup(try backup(key), path: Self.path)
        #expect(backup.knowsRecoveryKeys)
        #expect(try backup.open(by: try RecoveryKey(words: key.words)).name == "Alice")
        #expect(try backup.open(passphrase: secret(TestProfile.passphrase)).name == "Alice")
        let wrong = clientError { () throws(ClientError) in try backup.open(passphrase: secret("wrong")) }
        #expect(wrong?.caseName == "wrongBackupPassphrase")
        let other = clientError { () throws(ClientError) in try backup.open(by: RecoveryKey()) }
        #expect(other?.caseName == "otherProfileKey")
    }

    /// Whatever the length at which a backup is cut, the message says that it is cut.
    @Test func aCutBackupIsNamedAtEveryLength() throws {
        let bytes = try backup(RecoveryKey())
        for count in 0..<bytes.count {
            guard case .recovery(.cutBackup(Self.path, count, let whole)) = error(Array(bytes[..<count]))
            else {
                Issue.record("cut to \(count) bytes: \(String(describing: error(Array(bytes[..<count]))))")
                continue
            }
            #expect(whole == (count < 20 ? nil : bytes.count))
        }
    }

    /// No changed byte gets as far as asking for a key.
    @Test func everyChangedByteIsNoticed() throws {
        let bytes = try backup(RecoveryKey())
        for offset in bytes.indices {
            var changed = bytes
            changed[offset] ^= 0x10
            let name = error(changed)?.caseName
            #expect(
                ["damagedBackup", "cutBackup", "noBackup", "newerBackup"].contains(name), "byte \(offset)")
            if offset >= 20 { #expect(name == "damagedBackup", "byte \(offset)") }
        }
        #expect(error(bytes + [0])?.caseName == "damagedBackup")
    }

    /// A whole file with a wrong length inside is not called cut.
    @Test func aWrongLengthInsideIsDamage() throws {
        var content = try backup().dropLast(32).map(\.self)
        // The length of the first unlock method.
        content[48] ^= 0x10
        content[50] = 1
        #expect(error(content + Blake2b.hash(content, for: .profileBackup))?.caseName == "damagedBackup")
    }

    /// The hint stays in the profile: a backup goes to places where others read it.
    @Test func aBackupHasNoHint() throws {
        let test = try TestProfile(hint: "the usual")
        let profile = try test.unlock()
        let backup = try ProfileBackup(try profile.makeBackup(), path: Self.path)
        #expect(backup.record.methods.passphrases.map(\.sealedHint) == [[]])
        #expect(try backup.open(passphrase: secret(TestProfile.passphrase)).name == "Alice")
        let hints = profile.state.withLock { $0.record.methods.passphrases.map(\.sealedHint.isEmpty) }
        #expect(hints == [false])
    }

    @Test func otherFilesAreNamed() throws {
        #expect(error(Array("Dear Alice,".utf8))?.caseName == "noBackup")
        let test = try TestProfile()
        #expect(error(try test.bytes())?.caseName == "isProfile")
        var newer = try backup()
        newer[8] = 2
        #expect(error(newer)?.caseName == "newerBackup")
        let missing = clientError { () throws(ClientError) in
            try ProfileBackup(file: "\(test.location.path)/none")
        }
        #expect(missing?.caseName == "system")
        let directory = clientError { () throws(ClientError) in try ProfileBackup(file: test.location.path) }
        #expect(directory?.caseName == "system")
    }

    @Test func aBackupWithoutAKeySaysSo() throws {
        let backup = try ProfileBackup(try backup(), path: Self.path)
        #expect(!backup.knowsRecoveryKeys)
        let error = clientError { () throws(ClientError) in try backup.open(by: RecoveryKey()) }
        #expect(error?.caseName == "noRecoveryKey")
    }

    /// A revoked key opens no later backup; an earlier one is out of reach.
    @Test func aRevokedKeyOpensNoLaterBackup() throws {
        let test = try TestProfile()
        let profile = try test.unlock()
        let (old, new) = (RecoveryKey(), RecoveryKey())
        try profile.addRecoveryKey(old, passphrase: secret(TestProfile.passphrase))
        let earlier = try ProfileBackup(try profile.makeBackup(), path: Self.path)
        try profile.revokeRecoveryKeys(nil)
        try profile.addRecoveryKey(new, passphrase: secret(TestProfile.passphrase))
        let later = try ProfileBackup(try profile.makeBackup(), path: Self.path)
        let error = clientError { () throws(ClientError) in try later.open(by: old) }
        #expect(error?.caseName == "revokedKey")
        #expect(try later.open(by: new).name == "Alice")
        #expect(try earlier.open(by: old).name == "Alice")
    }

    /// A backup has nothing with which a profile could continue what this device wrote.
    @Test func aBackupHasNoKeysOfTheDevice() throws {
        let test = try TestProfile()
        let profile = try test.unlock()
        let body = profile.state.withLock { $0.body }
        let bytes = BackupBody(of: body).encoded()
        func holds(_ secret: borrowing SecretBytes) -> Bool {
            let part = secret.withBytes { $0.array }
            return bytes.indices.dropLast(part.count - 1).contains {
                bytes[$0..<$0 + part.count] == part[...]
            }
        }
        let hasIdentity = holds(body.identity.signing.seed) && holds(body.identity.agreement.secretKey)
        let hasKey = holds(body.vaults[0].keys[0].key.bytes)
        let hasDevice = holds(body.device.signing.seed) || holds(body.device.agreement.secretKey)
        let hasStore = holds(body.vaults[0].store.bytes)
        #expect(hasIdentity && hasKey && !hasDevice && !hasStore)
    }

    /// Nobody who lacks the keys reads names or remotes.
    @Test func aBackupTellsNoNames() throws {
        let test = try TestProfile(vault: "Unmistakable")
        defer { withExtendedLifetime(test) {} }
        let profile = try test.unlock()
        let text = String(decoding: try profile.makeBackup(), as: UTF8.self)
        #expect(!text.contains("Unmistakable") && !text.contains("Alice"))
    }
}
