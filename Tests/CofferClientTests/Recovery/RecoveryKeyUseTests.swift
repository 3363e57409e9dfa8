import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTrust
import Foundation
import Synchronization
import Testing

@testable import CofferClient

/// Adding, using and revoking recovery keys of a profile.
@Suite(.serialized) struct RecoveryKeyUseTests {
    private func add(_ key: RecoveryKey, to profile: Profile) throws(ClientError) {
        try profile.addRecoveryKey(key, passphrase: secret(TestProfile.passphrase))
    }

    private func replacePassphrase(_ test: TestProfile, by key: RecoveryKey) -> ClientError? {
        test.waitUntilFree()
        return clientError { () throws(ClientError) in
            try Profile.replacePassphrase(
                test.location, try test.location.takeLock(), recovery: key, with: secret("new words"),
                hint: nil, strength: .interactive)
        }
    }

    /// A forgotten passphrase is replaced; nothing else changes.
    @Test func aKeyReplacesAForgottenPassphrase() throws {
        let test = try TestProfile()
        let key = RecoveryKey()
        try add(key, to: try test.unlock())
        let profileKey = try test.key()
        for _ in 1...5 { _ = clientError { () throws(ClientError) in try test.unlock("wrong") } }
        #expect(replacePassphrase(test, by: try RecoveryKey(words: key.words)) == nil)
        // The count of wrong passphrases is reset, too.
        let profile = try test.unlock("new words")
        #expect(profile.vaults.map(\.name) == ["Personal"])
        #expect(profile.copyKey().withBytes { $0.array } == profileKey)
        #expect(profile.recoveryReport.keys.map(\.revoked) == [nil])
    }

    @Test func aKeyNeedsThePassphrase() throws {
        let test = try TestProfile()
        let profile = try test.unlock()
        let before = try test.bytes()
        let error = clientError { () throws(ClientError) in
            try profile.addRecoveryKey(RecoveryKey(), passphrase: secret("wrong"))
        }
        #expect(error?.caseName == "wrongPassphrase")
        #expect(try test.bytes() == before)
        #expect(profile.recoveryReport.keys.isEmpty)
    }

    @Test func aNewPassphraseKeepsTheKeys() throws {
        let test = try TestProfile()
        let key = RecoveryKey()
        try add(key, to: try test.unlock())
        try test.unlock().changePassphrase(
            from: secret(TestProfile.passphrase), to: secret("another"), hint: nil, strength: .interactive)
        #expect(replacePassphrase(test, by: key) == nil)
    }

    @Test func aKeyOfAnotherProfileOpensNothing() throws {
        let (one, other) = (try TestProfile(), try TestProfile())
        let (key, otherKey) = (RecoveryKey(), RecoveryKey())
        try add(key, to: try one.unlock())
        try add(otherKey, to: try other.unlock())
        let before = try one.bytes()
        #expect(replacePassphrase(one, by: otherKey)?.caseName == "otherProfileKey")
        #expect(try one.bytes() == before)
        #expect(try one.unlock().name == "Alice")
    }

    @Test func aProfileWithoutAKeySaysSo() throws {
        let test = try TestProfile()
        #expect(replacePassphrase(test, by: RecoveryKey())?.caseName == "noRecoveryKey")
        #expect(
            clientError { () throws(ClientError) in try test.unlock().revokeRecoveryKeys(nil) }?.caseName
                == "noSuchKey")
    }

    @Test func aRevokedKeyOpensNothingAndIsNamed() throws {
        let test = try TestProfile()
        let (kept, revoked) = (RecoveryKey(), RecoveryKey())
        do {
            let profile = try test.unlock()
            try add(kept, to: profile)
            try add(revoked, to: profile)
            let ids = profile.recoveryReport.keys.map(\.id)
            let unknown = clientError { () throws(ClientError) in try profile.revokeRecoveryKeys("xyz") }
            #expect(unknown?.caseName == "noSuchKey")
            try profile.revokeRecoveryKeys(String(ids[1].prefix(8)))
            #expect(profile.recoveryReport.keys.map { $0.revoked == nil } == [false, true])
        }
        #expect(replacePassphrase(test, by: revoked)?.caseName == "revokedKey")
        #expect(try test.unlock().name == "Alice")
        #expect(replacePassphrase(test, by: kept) == nil)
    }

    @Test func keysHaveALimitAndRevokedOnesAreForgottenInTheEnd() throws {
        let test = try TestProfile()
        let profile = try test.unlock()
        for round in 1...3 {
            for _ in 1...7 { try add(RecoveryKey(), to: profile) }
            let error = clientError { () throws(ClientError) in try add(RecoveryKey(), to: profile) }
            #expect(error?.caseName == "tooManyKeys")
            try profile.revokeRecoveryKeys(nil)
            #expect(profile.recoveryReport.keys.count == min(8, round * 7))
        }
        for _ in 1...7 { try add(RecoveryKey(), to: profile) }
        #expect(try ProfileRecordCount.of(test) == 16)
    }

    /// Revoked keys of a file that another program wrote give way to a new key, oldest first.
    @Test func revokedKeysGiveWayToANewOne() throws {
        let test = try TestProfile()
        do {
            let profile = try test.unlock()
            try add(RecoveryKey(), to: profile)
            try profile.change { state throws(ClientError) in
                guard let id = state.record.methods.recoveryKeys.first?.key else { return }
                state.record.methods.revokedKeys = (1...14).map {
                    RevokedKeyRecord(key: id, created: $0, revoked: $0)
                }
            }
        }
        let key = RecoveryKey()
        do {
            let profile = try test.unlock()
            try add(key, to: profile)
            #expect(profile.state.withLock { $0.record.methods.revokedKeys.map(\.created) } == Array(2...14))
        }
        #expect(try ProfileRecordCount.of(test) == 16)
        #expect(replacePassphrase(test, by: key) == nil)
        let profile = try test.unlock("new words")
        try profile.change { state throws(ClientError) in
            state.record.methods.revokedKeys = []
            let passphrase = state.record.methods.passphrases[0]
            state.record.methods.passphrases = Array(repeating: passphrase, count: 14)
        }
        let error = clientError { () throws(ClientError) in
            try profile.addRecoveryKey(RecoveryKey(), passphrase: secret("new words"))
        }
        #expect(error?.caseName == "tooManyKeys")
    }

    /// Too little of an id names no key, not even the only one.
    @Test func aKeyIsNamedByFourDigits() throws {
        let test = try TestProfile()
        let profile = try test.unlock()
        try add(RecoveryKey(), to: profile)
        let id = try #require(profile.recoveryReport.keys.first).id
        for count in 0...3 {
            let error = clientError { () throws(ClientError) in
                try profile.revokeRecoveryKeys(String(id.prefix(count)))
            }
            #expect(error?.caseName == "noSuchKey")
        }
        #expect(profile.recoveryReport.keys.map(\.revoked) == [nil])
        try profile.revokeRecoveryKeys(String(id.prefix(4)))
        #expect(profile.recoveryReport.keys.map(\.revoked) != [nil])
    }

    /// Where an answer was lost, a key may have been added.
    @Test func aLostAnswerIsNoRefusal() {
        for error in [ControlError.ended, .malformed, .otherAnswer] {
            #expect(ClientError.control(error).leavesOpenWhatAMountDid)
        }
        for error in [ControlError.answered(code: 77, message: ""), .otherProfile, .olderMount] {
            #expect(!ClientError.control(error).leavesOpenWhatAMountDid)
        }
    }

    /// A record that was damaged is not taken for a wrong key.
    @Test func aDamagedRecordIsNamed() throws {
        let test = try TestProfile()
        let key = RecoveryKey()
        try add(key, to: try test.unlock())
        var bytes = try test.bytes()
        // The last byte of the sealed key: 38 bytes, the passphrase (6 + 180), 6 and 98 bytes of the record.
        bytes[38 + 186 + 6 + 97] ^= 1
        try test.writeChecked(bytes)
        #expect(replacePassphrase(test, by: key)?.caseName == "damagedProfile")
        #expect(try test.unlock().name == "Alice")
    }
}

/// The number of unlock methods in a profile file.
private enum ProfileRecordCount {
    static func of(_ test: TestProfile) throws -> Int { Int(try test.bytes()[36]) }
}
