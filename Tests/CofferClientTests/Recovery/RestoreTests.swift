import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTrust
import Foundation
import Synchronization
import Testing

@testable import CofferClient

/// Profiles that are made from a backup.
@Suite(.serialized, .ownThread) struct RestoreTests {
    private let place: MeetingPlace
    private let key = RecoveryKey()

    init() throws { place = try MeetingPlace() }

    private static let settings = Profile.RestoreSettings(
        device: "new laptop", hint: nil, strength: .interactive)

    private func backup(_ person: OpenProfile, adding: Bool = true) throws -> ProfileBackup {
        if adding {
            try person.profile.addRecoveryKey(key, passphrase: secret(TestProfile.passphrase))
        }
        return try ProfileBackup(try person.profile.makeBackup(), path: "/b")
    }

    /// Restores on another machine, with the passphrase of the tests.
    private func restore(
        _ backup: ProfileBackup, _ settings: Profile.RestoreSettings = settings
    ) throws -> (report: RestoreReport, person: OpenProfile) {
        let opened = try backup.open(by: key)
        var report: RestoreReport?
        let test = try TestProfile { location in
            report = try Profile.restore(
                opened, at: location, passphrase: secret(TestProfile.passphrase), settings)
        }
        return (try #require(report), try OpenProfile(test))
    }

    @Test func vaultsComeBackFromTheirRemotes() throws {
        let backup: ProfileBackup
        let identity: IdentityID
        do {
            let alice = try OpenProfile()
            _ = try alice.ask(RemoteRequest.add(vault: "Personal", url: place.url))
            _ = try alice.ask(VaultRequest.create(name: "Local"))
            try alice.write("x", to: "before", in: "Personal")
            _ = try alice.sync()
            backup = try self.backup(alice)
            try alice.write("y", to: "after the backup", in: "Personal")
            _ = try alice.sync()
            identity = try alice.profile.publicIdentity().id
        }
        // Her profile is deleted now.
        let (report, alice) = try restore(backup)
        #expect(report.name == "Alice" && report.device == "new laptop")
        #expect(report.vaults.map(\.vault) == ["Personal"] && report.lost == ["Local"])
        #expect(report.keepsRecoveryKey && report.droppedKeys == 0)
        #expect(try alice.profile.publicIdentity().id == identity)
        #expect(try alice.sync().compactMap(\.failure) == [])
        #expect(try alice.has("before", in: "Personal") && alice.has("after the backup", in: "Personal"))
        try alice.write("z", to: "since", in: "Personal")
        let synced = try alice.sync()
        #expect(synced.flatMap(\.findings) == [] && synced.map(\.failure) == [nil])
        #expect(synced.map(\.unsentItems) == [0])
    }

    /// The old device may turn up again: both write, each in its own log, and nothing is reported.
    @Test func theOldDeviceAndTheNewOneWriteDifferentLogs() throws {
        let old = try OpenProfile()
        _ = try old.ask(RemoteRequest.add(vault: "Personal", url: place.url))
        try old.write("x", to: "before", in: "Personal")
        _ = try old.sync()
        let (_, new) = try restore(try backup(old))
        let logs = [old, new].map { $0.profile.shares.map(\.log) }
        #expect(logs[0].count == 1 && logs[1].count == 1 && logs[0] != logs[1])
        let devices = [old, new].map { $0.profile.state.withLock { $0.body.device.id } }
        #expect(devices[0] != devices[1])
        try new.write("new", to: "of the new", in: "Personal")
        try old.write("old", to: "of the old", in: "Personal")
        for _ in 1...2 {
            for person in [new, old] {
                let reports = try person.sync()
                #expect(reports.flatMap(\.findings) == [] && reports.compactMap(\.failure) == [])
            }
        }
        for person in [new, old] {
            #expect(try person.has("of the new", in: "Personal") && person.has("of the old", in: "Personal"))
        }
    }

    /// The key of a shared vault changes after the backup; the new device has a transient key to get it by.
    @Test func aMemberReadsWhatWasSealedUnderALaterKey() throws {
        let (alice, bob) = try place.pair()
        let before = Set(try alice.members().members.map(\.identity))
        let carol = try OpenProfile()
        let asked = try carol.ask(JoinRequest(invite: try alice.invite(), name: "Ours", waits: false))
        #expect(!asked.isMember)
        for person in [alice, carol, bob] { _ = try person.sync() }
        let (_, again) = try restore(try backup(bob))
        // The others learn the new transient key.
        for person in [again, alice] { _ = try person.sync() }
        let other = try #require(try alice.members().members.first { !before.contains($0.identity) })
        _ = try alice.ask(MemberRequest.remove(vault: "Personal", member: String(other.identity.prefix(16))))
        try alice.write("sealed anew", to: "later", in: "Personal")
        _ = try alice.sync()
        #expect(try again.sync().compactMap(\.failure) == [])
        #expect(try again.has("later", in: "Ours"))
        let gaps = again.profile.recoveryReport.gaps.map { "\($0.vault): \($0.reason.rawValue)" }
        #expect(gaps == ["Ours: newerKey"])
    }

    /// Changes the key of a vault: lets somebody join it, and removes that member.
    private func removeAnother(by alice: OpenProfile) throws {
        let before = Set(try alice.members().members.map(\.identity))
        let carol = try OpenProfile()
        let asked = try carol.ask(JoinRequest(invite: try alice.invite(), name: "Ours", waits: false))
        #expect(!asked.isMember)
        for person in [alice, carol] { _ = try person.sync() }
        let other = try #require(try alice.members().members.first { !before.contains($0.identity) })
        _ = try alice.ask(MemberRequest.remove(vault: "Personal", member: String(other.identity.prefix(16))))
        _ = try alice.sync()
    }

    /// After a drill, a new transient key on the old device is all that it needs.
    @Test func theOldDeviceGoesOnAfterADrill() throws {
        let (alice, bob) = try place.pair()
        do {
            let (_, drill) = try restore(try backup(bob))
            for person in [drill, alice] { _ = try person.sync() }
        }
        // The restored profile is deleted once this has been sent.
        _ = try bob.ask(IdentityRequest.roll)
        for person in [bob, alice] { _ = try person.sync() }
        try removeAnother(by: alice)
        try alice.write("x", to: "since the drill", in: "Personal")
        _ = try alice.sync()
        #expect(try bob.sync().compactMap(\.failure) == [])
        #expect(try bob.has("since the drill", in: "Ours"))
    }

    /// A key that was sealed for a transient key that the backup lacks is missed, and the next key brings all.
    @Test func aMemberWithAnOldBackupWaitsForTheNextKey() throws {
        let (alice, bob) = try place.pair()
        let backup = try self.backup(bob)
        _ = try bob.ask(IdentityRequest.roll)
        for person in [bob, alice] { _ = try person.sync() }
        try removeAnother(by: alice)
        try alice.write("x", to: "under the key that is missed", in: "Personal")
        _ = try alice.sync()
        let (_, again) = try restore(backup)
        let failures = try again.sync().compactMap(\.failure)
        #expect(failures == ["the vault's keys cannot be opened: the keys do not match the members"])
        #expect(try !again.has("under the key that is missed", in: "Ours"))
        for person in [again, alice] { _ = try person.sync() }
        try removeAnother(by: alice)
        #expect(try again.sync().compactMap(\.failure) == [])
        #expect(try again.has("under the key that is missed", in: "Ours"))
    }

    @Test func theSheetAndTheBackupStayValid() throws {
        let backup: ProfileBackup
        do {
            let alice = try OpenProfile()
            let other = RecoveryKey()
            try alice.profile.addRecoveryKey(other, passphrase: secret(TestProfile.passphrase))
            backup = try self.backup(alice)
        }
        let (report, alice) = try restore(backup)
        #expect(report.keepsRecoveryKey && report.droppedKeys == 1)
        // The old passphrase's profile key is not that of the new profile.
        #expect(try self.backup(alice, adding: false).open(by: key).name == "Alice")
        #expect(alice.profile.recoveryReport.keys.map { $0.revoked == nil } == [false, true])
        _ = try restore(backup)
    }

    @Test func thePassphraseRestoresToo() throws {
        let alice = try OpenProfile()
        let opened = try backup(alice).open(passphrase: secret(TestProfile.passphrase))
        let test = try TestProfile { location in
            let report = try Profile.restore(
                opened, at: location, passphrase: secret(TestProfile.passphrase), Self.settings)
            #expect(!report.keepsRecoveryKey && report.droppedKeys == 1)
        }
        #expect(try test.unlock().name == "Alice")
        let error = clientError { () throws(ClientError) in
            try Profile.check(test.location, recovery: key)
        }
        #expect(error?.caseName == "revokedKey")
    }

    /// The new device has another name than the old one, so that conflict copies tell them apart.
    @Test func theNewDeviceHasItsOwnName() throws {
        let alice = try OpenProfile()
        var settings = Self.settings
        settings.device = "laptop"
        #expect(try restore(try backup(alice), settings).report.device == "laptop 2")
    }

    @Test func nothingIsOverwritten() throws {
        let alice = try OpenProfile()
        let opened = try backup(alice).open(by: key)
        let other = try TestProfile()
        let before = try other.bytes()
        func restore(_ passphrase: String, device: String = "d") -> ClientError? {
            clientError { () throws(ClientError) in
                try Profile.restore(
                    opened, at: other.location, passphrase: secret(passphrase),
                    .init(device: device, hint: nil, strength: .interactive))
            }
        }
        #expect(restore("words")?.caseName == "profileExists")
        #expect(try other.bytes() == before)
        try FileManager.default.removeItem(atPath: other.location.path)
        #expect(restore("")?.caseName == "emptyPassphrase")
        #expect(restore("words", device: "")?.caseName == "invalidName")
        #expect(restore("words", device: " ")?.caseName == "invalidName")
        #expect(!other.location.exists)
        #expect(restore("words") == nil)
    }

    /// What lies where a store will be, as after an interrupted attempt, is kept.
    @Test func anInterruptedAttemptIsRepeated() throws {
        let alice = try OpenProfile()
        _ = try alice.ask(RemoteRequest.add(vault: "Personal", url: place.url))
        let vault = try #require(alice.profile.vaults.first).id
        let opened = try backup(alice).open(by: key)
        let test = try TestProfile { location in
            let files = FileManager.default
            try files.createDirectory(
                atPath: "\(location.path)/vaults/\(vault)", withIntermediateDirectories: true)
            try files.setAttributes([.posixPermissions: 0o700], ofItemAtPath: location.path)
            try Data("kept".utf8).write(to: URL(filePath: "\(location.path)/vaults/\(vault)/file"))
            _ = try Profile.restore(
                opened, at: location, passphrase: secret(TestProfile.passphrase), Self.settings)
        }
        let again = try OpenProfile(test)
        #expect(try again.sync().compactMap(\.failure) == [])
        #expect(try test.vaultFiles().contains { $0.key.hasSuffix("/file") && $0.value == Data("kept".utf8) })
    }

    /// An attempt that fails removes its own stores, and nothing that was there before.
    @Test(arguments: [0, 1]) func aFailedAttemptRemovesOnlyWhatItMade(failing: Int) throws {
        let test = try TestProfile()
        let profile = try test.unlock()
        _ = try profile.createVault(named: "Local", owner: .current)
        let vaults = profile.vaults
        for vault in vaults {
            let path = "\(profile.directory(of: vault))/old"
            try Data(vault.name.utf8).write(to: URL(filePath: path))
        }
        let before = try test.vaultFiles()
        let error = clientError { () throws(ClientError) in
            try profile.makeStores { vault, path throws(ClientError) in
                try profile.makeStore(of: vault, at: path, .current)
                if vault.id == vaults[failing].id { throw .profile(.noMemory) }
            }
        }
        #expect(error?.caseName == "noMemory")
        let after = try test.vaultFiles()
        #expect(after.count == before.count)
        for vault in vaults {
            let isKept = after.contains { $0.key.hasSuffix("/old") && $0.value == Data(vault.name.utf8) }
            #expect(isKept, "\(vault.name)")
        }
        // What was not reached is still in its place.
        #expect(Directory.exists(profile.directory(of: vaults[0])) == false)
        #expect(Directory.exists("\(profile.directory(of: vaults[1]))/old") == (failing == 0))
    }

    /// A person who has not shared anything yet is the same person afterwards.
    @Test func anIdentityIsInEveryBackup() throws {
        let alice = try OpenProfile()
        let backup = try self.backup(alice)
        let (_, again) = try restore(backup)
        #expect(try again.profile.publicIdentity().id == alice.profile.publicIdentity().id)
    }

    /// However many transient keys a backup has, the new device has one of its own.
    @Test func aNewDeviceAlwaysGetsATransientKey() throws {
        let keys = IdentityKeys(name: "Alice")
        var identity = try PublicIdentity(founding: keys, at: 1_000)
        for round in 1...40 {
            let newer = try identity.rolledForNewDevice(by: keys, at: 1_000 + Int64(round))
            #expect(newer.transient.key != identity.transient.key)
            identity = newer
        }
        #expect(throws: TrustError.self) { try identity.rolledNow(by: keys, at: 2_000) }
    }

    /// The profile says when a backup no longer brings everything back.
    @Test func gapsAreNamed() throws {
        let alice = try OpenProfile()
        func gaps() -> [String] {
            alice.profile.recoveryReport.gaps.map { "\($0.vault): \($0.reason.rawValue)" }
        }
        func writeBackup() throws {
            let before = alice.profile.recoveryReport.backup
            let backup = try ProfileBackup(try alice.profile.makeBackup(), path: "/b")
            // It counts only when it is in a file.
            #expect(alice.profile.recoveryReport.backup == before)
            _ = try alice.ask(backup.note)
        }
        #expect(gaps() == ["Personal: noRemote"])
        try writeBackup()
        #expect(gaps() == ["Personal: noRemote"])
        _ = try alice.ask(RemoteRequest.add(vault: "Personal", url: place.url))
        #expect(gaps() == ["Personal: notInBackup"])
        try writeBackup()
        #expect(gaps() == [])
        #expect(alice.profile.recoveryReport.backup != nil)
        func keys() -> [Bool?] { alice.profile.recoveryReport.keys.map(\.opensBackup) }
        try alice.profile.addRecoveryKey(key, passphrase: secret(TestProfile.passphrase))
        #expect(keys() == [false])
        try writeBackup()
        #expect(keys() == [true])
        try alice.profile.revokeRecoveryKeys(nil)
        #expect(keys() == [true])
        try writeBackup()
        #expect(keys() == [false])
    }
}
