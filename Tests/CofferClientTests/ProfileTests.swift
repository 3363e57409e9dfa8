import CofferCrypto
import CofferSystem
import Foundation
import Testing

@testable import CofferClient

/// Making, unlocking and changing profiles.
@Suite(.serialized) struct ProfileTests {
    @Test func createAndOpen() throws {
        let test = try TestProfile(vault: "Első")
        let first = try test.unlock()
        #expect(first.name == "Alice" && first.device == "laptop")
        #expect(first.vaults.map(\.name) == ["Első"])
        #expect(first.vaults.map(\.slot) == [1])
        #expect(first.id.count == 32)
    }

    @Test func sameKeysEachTime() throws {
        let test = try TestProfile()
        let id = try test.unlock().id
        let key = try test.key()
        #expect(try test.unlock().id == id)
        #expect(try test.key() == key)
        #expect(AttemptLimiter(path: test.location.attempts).count == 0)
    }

    @Test func twoProfilesShareNothing() throws {
        let (first, second) = (try TestProfile(), try TestProfile())
        #expect(try first.unlock().id != second.unlock().id)
        #expect(try first.key() != second.key())
        #expect(try first.unlock().vaults.first?.id != second.unlock().vaults.first?.id)
    }

    @Test func existsAlready() throws {
        let test = try TestProfile()
        let before = try test.bytes()
        let settings = Profile.Settings(
            name: "Bob", device: "phone", hint: nil, strength: .interactive, firstVault: "Other")
        let error = clientError { () throws(ClientError) in
            try Profile.create(at: test.location, passphrase: secret("other"), settings)
        }
        #expect(error?.caseName == "profileExists")
        #expect(try test.bytes() == before)
    }

    private func create(in path: String) -> ClientError? {
        let settings = Profile.Settings(
            name: "Bob", device: "phone", hint: nil, strength: .interactive, firstVault: "Other")
        return clientError { () throws(ClientError) in
            try Profile.create(at: ProfileLocation(path: path), passphrase: secret("p"), settings)
        }
    }

    /// An existing directory is closed to others, like one that is made for the profile.
    @Test func aDirectoryOpenToOthers() throws {
        let directory = try TemporaryDirectory()
        for (name, holdsFiles) in [("empty", false), ("full", true)] {
            let path = "\(directory.path)/\(name)"
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
            if holdsFiles { try Data().write(to: URL(filePath: "\(path)/other")) }
            #expect(create(in: path)?.caseName == (holdsFiles ? "notPrivate" : nil))
            var status = stat()
            #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == (holdsFiles ? 0o755 : 0o700))
            #expect(ProfileLocation(path: path).exists == !holdsFiles)
        }
    }

    @Test func emptyPassphrase() throws {
        let directory = try TemporaryDirectory()
        let location = ProfileLocation(path: "\(directory.path)/profile")
        let settings = Profile.Settings(
            name: "Bob", device: "phone", hint: nil, strength: .interactive, firstVault: "Other")
        let error = clientError { () throws(ClientError) in
            try Profile.create(at: location, passphrase: secret(""), settings)
        }
        #expect(error?.caseName == "emptyPassphrase")
        #expect(!location.exists)
        let test = try TestProfile()
        #expect(
            clientError { () throws(ClientError) in try test.unlock("") }?.caseName == "emptyPassphrase")
        // It did not count as an attempt.
        #expect(AttemptLimiter(path: test.location.attempts).count == 0)
    }

    /// Whoever has the profile's file can read a hint.
    @Test(arguments: ["swordfish", "it is SwordFish!", " swordfish"])
    func aHintThatRevealsThePassphrase(hint: String) throws {
        let directory = try TemporaryDirectory()
        let location = ProfileLocation(path: "\(directory.path)/profile")
        let settings = Profile.Settings(
            name: "Bob", device: "phone", hint: hint, strength: .interactive, firstVault: "Other")
        let error = clientError { () throws(ClientError) in
            try Profile.create(at: location, passphrase: secret("swordfish"), settings)
        }
        #expect(error?.caseName == "hintTellsPassphrase" && !location.exists)
        let profile = try TestProfile().unlock()
        let change = clientError { () throws(ClientError) in
            try profile.changePassphrase(
                from: secret(TestProfile.passphrase), to: secret("swordfish"), hint: hint,
                strength: .interactive)
        }
        #expect(change?.caseName == "hintTellsPassphrase")
    }

    @Test func shortPassphrases() {
        for (text, isShort) in [("", true), ("a", true), ("123456789", true), ("correct horse", false)] {
            let passphrase = secret(text)
            let answer = NewPassphrase.isShort(passphrase)
            #expect(answer == isShort, "\(text)")
        }
    }

    /// A name that could not be shown to others, once a vault is shared, is refused from the start.
    @Test(arguments: [
        "", " ", "\u{3000}\u{a0}", "a\nb", "\u{1b}[2J", "\u{202e}gpj", "a\u{200b}b",
        String(repeating: "x", count: 256),
    ])
    func namesThatCannotBeShownToOthers(name: String) throws {
        for isDevice in [false, true] {
            let directory = try TemporaryDirectory()
            let location = ProfileLocation(path: "\(directory.path)/profile")
            let settings = Profile.Settings(
                name: isDevice ? "Bob" : name, device: isDevice ? name : "phone", hint: nil,
                strength: .interactive, firstVault: "Other")
            let error = clientError { () throws(ClientError) in
                try Profile.create(at: location, passphrase: secret("swordfish"), settings)
            }
            #expect(error?.caseName == "invalidName" && !location.exists)
        }
    }

    /// A first vault that cannot be made leaves no profile, and the next try works.
    @Test func creationThatFails() throws {
        let directory = try TemporaryDirectory()
        let location = ProfileLocation(path: "\(directory.path)/profile")
        var settings = Profile.Settings(
            name: "Bob", device: "phone", hint: nil, strength: .interactive, firstVault: "a/b")
        let error = clientError { () throws(ClientError) in
            try Profile.create(at: location, passphrase: secret("x"), settings)
        }
        #expect(error?.caseName == "invalidVaultName")
        #expect(!location.exists)
        settings.firstVault = "ab"
        try Profile.create(at: location, passphrase: secret("x"), settings)
        #expect(location.exists)
    }

    @Test func wrongPassphrase() throws {
        let test = try TestProfile()
        for wrong in ["wrong", "correct horse ", "Correct horse", "correct hors", "correct horse\0"] {
            test.forgetAttempts()
            let error = clientError { () throws(ClientError) in try test.unlock(wrong) }
            #expect(error?.caseName == "wrongPassphrase", "\(wrong)")
        }
    }

    @Test func longAndOddPassphrases() throws {
        for passphrase in [String(repeating: "x", count: 4096), "ünïcödé 🐴", " ", "\n", "a\0b"] {
            let test = try TestProfile(passphrase: passphrase)
            #expect(try test.unlock(passphrase).name == "Alice")
        }
    }

    @Test func missingProfile() throws {
        let directory = try TemporaryDirectory()
        let location = ProfileLocation(path: "\(directory.path)/none")
        #expect(
            clientError { () throws(ClientError) in try Profile.check(location) }?.caseName == "noProfile")
        let error = clientError { () throws(ClientError) in
            let lock = try location.takeLock()
            return lock.number
        }
        #expect(error?.caseName == "noProfile")
        #expect(!FileManager.default.fileExists(atPath: location.path))
    }

    @Test func filesArePrivate() throws {
        let test = try TestProfile()
        for path in [test.location.path, test.location.profile, test.location.lock, test.location.vaults] {
            var status = stat()
            #expect(stat(path, &status) == 0)
            #expect(status.st_mode & 0o077 == 0, "\(path)")
        }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: test.location.path).sorted() == [
                "lock", "profile", "vaults",
            ])
    }
}
