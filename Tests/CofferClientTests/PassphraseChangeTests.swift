import CofferCrypto
import Foundation
import Testing

import CofferClient

/// Changing the passphrase, and the hint.
@Suite(.serialized) struct PassphraseChangeTests {
    @Test func vaultsAreUntouched() throws {
        let test = try TestProfile()
        let (files, profile) = (try test.vaultFiles(), try test.bytes())
        do {
            let opened = try test.unlock()
            try opened.changePassphrase(
                from: secret(TestProfile.passphrase), to: secret("another"), hint: nil,
                strength: try PasswordHash(passes: 3, memory: 65_536))
        }
        #expect(try test.vaultFiles() == files)
        #expect(!files.isEmpty)
        #expect(try test.bytes() != profile)
        #expect(clientError { () throws(ClientError) in try test.unlock() }?.caseName == "wrongPassphrase")
        #expect(try test.vaultNames("another") == ["Personal"])
    }

    @Test func changeNeedsThePresentPassphrase() throws {
        let test = try TestProfile()
        let opened = try test.unlock()
        let before = try test.bytes()
        let wrong = clientError { () throws(ClientError) in
            try opened.changePassphrase(
                from: secret("wrong"), to: secret("another"), hint: nil, strength: .interactive)
        }
        #expect(wrong?.caseName == "wrongPassphrase")
        let empty = clientError { () throws(ClientError) in
            try opened.changePassphrase(
                from: secret(TestProfile.passphrase), to: secret(""), hint: nil, strength: .interactive)
        }
        #expect(empty?.caseName == "emptyPassphrase")
        #expect(try test.bytes() == before)
    }

    /// Only the passphrase distinguishes the old file from the new one: salt and wrapping are fresh.
    @Test func everythingIsFresh() throws {
        let test = try TestProfile()
        let before = try test.bytes()
        try test.unlock().changePassphrase(
            from: secret(TestProfile.passphrase), to: secret(TestProfile.passphrase), hint: nil,
            strength: .interactive)
        let after = try test.bytes()
        let (salt, wrapped) = (44..<60, 150..<222)
        #expect(before[salt] != after[salt])
        #expect(before[wrapped] != after[wrapped])
        #expect(try test.personName() == "Alice")
    }

    @Test func hintAfterThreeAttempts() throws {
        let test = try TestProfile(hint: "four words, one horse")
        for attempt in 1...3 {
            let error = clientError { () throws(ClientError) in try test.unlock("wrong") }
            guard case .profile(.wrongPassphrase(let hint)) = error else {
                Issue.record("attempt \(attempt): \(String(describing: error))")
                return
            }
            #expect(hint == (attempt == 3 ? "four words, one horse" : nil), "attempt \(attempt)")
        }
        let late = clientError { () throws(ClientError) in try test.unlock() }
        #expect(late?.caseName == "tooManyAttempts")
        test.forgetAttempts()
        _ = try test.unlock()
        // The right passphrase resets the count of wrong ones.
        guard
            case .profile(.wrongPassphrase(hint: nil)) = clientError({ () throws(ClientError) in
                try test.unlock("wrong")
            })
        else {
            Issue.record("the hint is shown too early")
            return
        }
    }

    @Test func hintIsNotInPlain() throws {
        let test = try TestProfile(hint: "four words, one horse")
        #expect(Data(try test.bytes()).range(of: Data("four words".utf8)) == nil)
    }

    @Test func withoutAHint() throws {
        let test = try TestProfile()
        for _ in 1...3 {
            guard
                case .profile(.wrongPassphrase(hint: nil)) = clientError({ () throws(ClientError) in
                    try test.unlock("wrong")
                })
            else {
                Issue.record("another error")
                return
            }
        }
    }

    /// A new passphrase without a hint removes the old hint everywhere.
    @Test func hintGoesWithItsPassphrase() throws {
        let test = try TestProfile(hint: String(repeating: "é", count: 2000))
        let size = try test.bytes().count
        try test.unlock().changePassphrase(
            from: secret(TestProfile.passphrase), to: secret("another"), hint: nil, strength: .interactive)
        #expect(try test.bytes().count < size - 1000)
    }
}
