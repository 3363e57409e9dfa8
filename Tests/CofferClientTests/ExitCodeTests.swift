import CofferFormat
import CofferRemote
import CofferSync
import CofferSystem
import CofferTrust
import CofferVault
import Foundation
import Testing

@testable import CofferClient

/// The exit codes are an interface: a table of all errors, which the manual must contain.
@Suite struct ExitCodeTests {
    private static let failed = SystemError("open", code: 5, on: "/file")

    static let table: [(ClientError, Int32)] = [
        (.profile(.noProfile(path: "/p")), 66), (.profile(.profileExists(path: "/p")), 73),
        (.profile(.damagedProfile(path: "/p")), 65),
        (.profile(.newerProfile(path: "/p", found: 2, supported: 1)), 65),
        (.profile(.wrongPassphrase(hint: nil)), 77),
        (.profile(.tooManyAttempts(seconds: 5)), 75), (.profile(.emptyPassphrase), 77),
        (.profile(.noMemory), 71), (.profile(.locked(nil)), 75),
        (.profile(.locked(LockNote(process: 1, mountPoint: "/m", socket: "/s"))), 75),
        (.vaultName(.noSuchVault(name: "v")), 66),
        (.vaultName(.vaultExists(name: "v")), 73), (.vaultName(.invalidVaultName(name: "v")), 64),
        (.mount(.mountPoint(path: "/m", .missing)), 72), (.mount(.mountPoint(path: "/m", .notDirectory)), 72),
        (.mount(.mountPoint(path: "/m", .notEmpty)), 72), (.mount(.mountPoint(path: "/m", .notOurs)), 72),
        (.mount(.mountPoint(path: "/m", .inUse)), 75), (.mount(.mountPoint(path: "/m", .busy)), 75),
        (.mount(.noFUSE(failed)), 69), (.mount(.mountPoint(path: "/m", .otherUsers("bob"))), 77),
        (.mount(.mountPoint(path: "/m", .unknownServer)), 76),
        (.mount(.notMounted(path: "/m")), 72), (.profile(.notPrivate(path: "/p")), 73),
        (.mount(.notStored(path: "/m", reason: "no space", isUnmounted: false)), 74),
        (.mount(.notStored(path: "/m", reason: "no space", isUnmounted: true)), 74), (.system(failed), 74),
        (.vault(.damaged(place: "a page")), 65), (.vault(.format(.truncated, place: "a page")), 65),
        (.vault(.noSpace), 74), (.vault(.system(failed)), 74),
        (.control(.answered(code: 74, message: "text")), 74), (.remoteSetting(.noRemote(vault: "v")), 66),
        (.remoteSetting(.hasRemote(vault: "v", url: "file:///r")), 73),
        (.remoteSetting(.otherRemote(vault: "v", url: "file:///r")), 73),
        (.profile(.invalidName("n")), 64), (.profile(.hintTellsPassphrase), 64), (.profile(.noTerminal), 64),
        (.profile(.passphrasesDiffer), 64),
        (.member(.noSuchInvite(id: "0", vault: "v")), 66),
        (.member(.ambiguousInvite(id: "0", vault: "my v")), 64),
        (.remoteSetting(.othersAreMembers(vault: "v", count: 1)), 77),
        (.remoteSetting(.notOwner(vault: "v")), 77),
        (.sync(vault: "v", .membership(.refused(.lastOwner))), 77), (.sync(vault: "v", .notMember), 77),
        (.sync(vault: "v", .membership(.contended)), 74),
        (.sync(vault: "v", .membership(.nothingPending)), 66),
        (.sync(vault: "my v", .membership(.postponed("removing M", member: "M", because: "full"))), 75),
        (.remoteSetting(.membersNotChanged(vault: "v", url: "file:///r", .noMembers)), 74),
        (.profile(.profileExists(path: "/my p", home: "my p")), 73),
        (.mount(.mountPoint(path: "/m", .inProfile)), 72),
        (.remoteSetting(.incompleteRemote(vault: "v", url: "file:///r")), 73),
        (.remoteSetting(.vaultBusy(name: "v")), 75), (.control(.olderMount), 76),
        (.content(.noSuchPath(path: "p", vault: "v")), 66),
        (.content(.notPinned(path: "p", vault: "v")), 66),
        (.content(.noHistory(vault: "v")), 66), (.content(.beforeHistory(vault: "my v")), 66),
        (.content(.noSuchSnapshot(name: "s", vault: "my v")), 66),
        (.content(.noSuchState(name: "s", vault: "v")), 66),
        (.content(.snapshotExists(name: "my s", vault: "v")), 73),
        (.content(.invalidSnapshotName("2h")), 64),
        (.content(.snapshotsLeft(names: ["s", "t"], vault: "my v")), 73),
        (.content(.undoDisturbed(vault: "my v")), 75),
        (.content(.noSuchAuthor(name: "M", vault: "my v", known: ["Ann on x", "Bob on y"])), 66),
        (.content(.ambiguousAuthor(name: "Bob", vault: "my v", fitting: ["Bob on x", "Bob on y"])), 64),
        (.content(.notFetched(vault: "v", bytes: 1, .timedOut)), 74),
        (.content(.notFetched(vault: "v", bytes: 1, .damaged(place: "a pack"))), 65),
        (.joining(.hasVault(name: "v")), 73),
        (.joining(.notJoined(.expired)), 77), (.joining(.notJoined(.noVault)), 66),
        (.joining(.notJoined(.remote(.absent))), 74),
        (.joining(.notJoined(.remote(.unreachable("no folder")))), 74),
        (.joining(.notJoined(.linkMissing(1))), 75), (.joining(.notJoined(.refused(.withdrawn))), 77),
        (.joining(.notJoined(.cancelled)), 77), (.joining(.noSuchJoin(name: "v")), 66),
        (.joining(.noSuchJoin(name: nil)), 66), (.joining(.requestStays(name: "v", .remote(.absent))), 74),
        (.remoteSetting(.remoteOnly(vault: "v", items: 1, bytes: 2)), 73), (.joining(.joinInterrupted), 75),
        (.member(.noSuchMember(name: "m", vault: "v")), 66),
        (.content(.neverThere(path: "p", vault: "v")), 66), (.content(.otherType(path: "p", vault: "v")), 73),
        (.member(.ambiguousMember(name: "m", vault: "v")), 64), (.member(.otherWords(first: 3)), 77),
        (.member(.otherWords(first: nil)), 77),
        (.content(.noSuchConflict(path: "a")), 66), (.remoteSetting(.remoteURL(.noScheme)), 64),
        (.remote(.absent), 74),
        (.sync(vault: "v", .noMembers), 74), (.trust(.noSuchInvite), 77),
        (.mount(.mountPoint(path: "/m", .busyHere("p (1)"))), 75),
        (.mount(.mountPoint(path: "/m", .busyElsewhere("p (1)"))), 75),
        (.mount(.mountPoint(path: "/m", .detached(process: 7))), 75), (.mount(.endedEarly), 76),
        (.locking(.locked), 75), (.locking(.notMounted), 72), (.locking(.underWay), 75),
        (.locking(.inUse), 75), (.locking(.commandUnderWay), 75), (.locking(.replaced), 76),
        (.locking(.failedWrites(files: ["v/a"], others: 0)), 74),
        (.locking(.failedWrites(files: ["v/a", "v/b"], others: 5)), 74),
        (.locking(.notClosed(reason: "no space")), 74), (.locking(.lost(files: 2)), 74),
        (.locking(.notStored(reason: "no space")), 74), (.locking(.notWritten(reason: "sync: no file")), 74),
        (.locking(.notPossible), 76),
        (.profile(.strengthOutOfRange), 76), (.profile(.namesNotShareable), 76),
        (.profile(.noMoreVaults), 76), (.profile(.wrongPassphrase(hint: "horse")), 77),
        (.profile(.tooManyAttempts(seconds: 1)), 75), (.member(.noSuchRole("king")), 76),
        (.content(.notFetched(vault: "v", bytes: 1, .noSpace)), 74),
        (.remoteSetting(.remoteOnly(vault: "v", items: 2, bytes: 3000)), 73),
        (.remoteSetting(.othersAreMembers(vault: "v", count: 2)), 77),
        (.control(.malformed), 76), (.control(.notEncodable("reason.")), 76), (.control(.silent(failed)), 76),
        (.control(.ended), 76), (.control(.otherAnswer), 76), (.control(.notThisProfile), 76),
        (.control(.otherProfile), 76), (.control(.otherUser(5)), 76), (.control(.otherSocket("/s")), 76),
        (.control(.linkedLock(path: "/p/lock")), 76), (.control(.noDirectory), 76), (.cipherFailed, 76),
        (.recovery(.words(.missingWord(number: 3))), 77),
        (.recovery(.otherProfile(profile: "0a", made: nil)), 77),
        (.recovery(.otherProfile(profile: "0a", made: 0)), 77),
        (.recovery(.revokedKey(created: 0, revoked: 86_400_000_000_000)), 77),
        (.recovery(.noRecoveryKey), 77), (.recovery(.wrongPassphrase), 77),
        (.recovery(.cutBackup(path: "/b", count: 10, whole: 20)), 65),
        (.recovery(.cutBackup(path: "/b", count: 10, whole: nil)), 65),
        (.recovery(.damagedBackup(path: "/b")), 65),
        (.recovery(.newerBackup(path: "/b", found: 2, supported: 1)), 65),
        (.recovery(.noBackup(path: "/b")), 65), (.recovery(.isProfile(path: "/b")), 65),
        (.recovery(.fileExists(path: "/b")), 73), (.recovery(.inVault(path: "/b")), 73),
        (.recovery(.tooManyKeys), 73),
        (.recovery(.noSuchKey(id: "0")), 66), (.recovery(.noSuchKey(id: nil)), 66),
        (.recovery(.noTerminal), 64),
        (.export(.unreadable(path: "a", vault: "v", .damaged(place: "block 1"))), 65),
        (.export(.unreadable(path: "a", vault: "v", .timedOut)), 74),
        (.export(.tooLarge(path: "a", vault: "v", field: "path")), 65),
        (.export(.fileExists(path: "/e")), 73), (.export(.notFile(path: "/e")), 73),
        (.export(.inVault(path: "/e")), 73), (.export(.terminal), 64), (.export(.interrupted), 75),
        (.export(.recipientCount(0, max: 16)), 64), (.export(.recipientCount(17, max: 16)), 64),
        (.export(.noExport), 65), (.export(.newerExport(found: 2, supported: 1)), 65),
        (.export(.damagedHeader), 65), (.export(.wrongPassphrase), 77), (.export(.passphraseNeeded), 64),
        (.export(.recipientNeeded), 64), (.export(.notRecipient), 77), (.export(.cut(bytes: 5)), 65),
        (.export(.damaged(offset: 5)), 65), (.export(.trailing(offset: 5)), 65),
        (.export(.badArchive(.truncated, offset: 5)), 65),
        (.export(.badArchive(.trailingBytes, offset: 5)), 65),
        (.export(.badArchive(.invalid(field: "path"), offset: 5)), 65),
        (.export(.badArchive(.unknown(field: "type", found: 7), offset: 5)), 65),
        (.export(.badArchive(.duplicate(field: "path"), offset: 5)), 65),
        (.export(.badArchive(.notThisKind, offset: 5)), 65),
        (.export(.badEntry(path: "/a", .noDirectory)), 65), (.export(.badEntry(path: "/a", .duplicate)), 65),
        (.export(.badEntry(path: "/a", .noTarget)), 65),
        (.export(.badEntry(path: "/a", .attribute(name: Array("trusted.x".utf8)))), 65),
        (.export(.badEntry(path: "/a", .vault(.noSpace))), 74),
        (.export(.badEntry(path: "/a", .vault(.nameTooLong))), 74),
        (.export(.badEntry(path: "/a", .tooManyAttributes)), 65),
        (.export(.badEntry(path: "/a", .tooMuchContent)), 65),
        (.export(.notOpened(vault: "v", reason: "It is gone.")), 74),
        (.device(.address("x")), 64), (.device(.cannotListen("a", failed)), 74),
        (.device(.cannotConnect("a", failed)), 74), (.device(.busy), 75), (.device(.noQuestion), 75),
        (.device(.cutOff), 74), (.device(.noAnswer), 75), (.device(.cancelled), 75),
        (.device(.codesDiffer), 77), (.device(.pairing(.wrongCommitment)), 77),
        (.device(.pairing(.refused(.codesDiffer))), 77), (.device(.pairing(.refused(.failed))), 74),
        (.device(.pairing(.refused(.cancelled))), 75), (.device(.pairing(.refused(.nameTaken))), 73),
        (.device(.alreadyAuthorized), 73), (.device(.nameTaken("d")), 73),
        (.device(.notConfirmed(name: "d")), 75), (.device(.unknownDevice), 77),
        (.device(.revokedDevice), 77), (.device(.damagedTransfer), 65), (.device(.otherPerson), 77),
        (.device(.olderKeys), 77), (.device(.listsDiffer), 77), (.device(.revokedHere), 77),
        (.device(.noSuchDevice("d")), 66), (.device(.lastDevice), 77), (.device(.thisDevice), 77),
        (.sync(vault: "v", .membership(.keysReplaced)), 77),
        (.remoteSetting(.failed(url: "s3://b", .readOnly)), 74),
        (.remoteSetting(.noLogin(url: "sftp://h/x")), 64),
        (.remoteSetting(.notLoggedIn(place: "s3://b")), 66),
        (.remoteSetting(.badLogin(place: "s3://b", .empty("secret key"))), 65),
        (.remoteSetting(.notSynced(vault: "v", url: "s3://b", .remote(.full, during: .sending))), 74),
        (.remoteSetting(.inMount(url: "file:///m/v/r", mountPoint: "/m")), 73),
        (.profile(.moved(path: "/p")), 66), (.profile(.readOnlyDisk(path: "/p")), 74),
    ]

    @Test func everyError() {
        for (error, code) in Self.table { #expect(error.exitCode == code, "\(error)") }
        // `caseName` does not compile when a case is added; this number has to grow with it.
        #expect(Set(Self.table.map(\.0.caseName)).count == 160)
    }

    @Test func everyText() {
        #expect(Self.table.count == ErrorTexts.all.count)
        for ((error, _), text) in zip(Self.table, ErrorTexts.all) { #expect("\(error)" == text) }
    }

    /// The exit code of `coffer sync` is the worst of all vaults.
    @Test func sync() {
        func report(
            failure: String? = nil, doubts: [String] = [], unsent: Int = 0, left: Int = 0
        ) -> SyncReport {
            var report = SyncReport(
                vault: "v", remote: "file:///r", role: nil, phase: "idle", failure: failure,
                offlineSince: nil, findings: doubts, unsentItems: unsent, commitsLeft: left, lastRound: nil,
                rotationOwed: nil, oldEpochBytes: 0, devices: [])
            report.doubts = doubts
            return report
        }
        #expect([report()].exitCode == 0 && [SyncReport]().exitCode == 0)
        #expect([report(), report(unsent: 1)].exitCode == 75)
        #expect([report(left: 1), report()].exitCode == 75)
        #expect([report(doubts: ["less"], unsent: 1)].exitCode == 65)
        #expect([report(unsent: 1), report(doubts: ["less"]), report(failure: "no")].exitCode == 74)
    }

    /// Success never has the code of an error, and the codes of shells are not used.
    @Test func reserved() {
        for (error, code) in Self.table { #expect((64...78).contains(code), "\(error)") }
    }

    /// `coffer --help` and the manual that is made from it name every code.
    @Test func documented() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(
            contentsOf: root.appending(path: "Sources/coffer/Coffer.swift"), encoding: .utf8)
        let start = try #require(text.range(of: "Exit codes:"))
        let codes = text[start.upperBound...].prefix { $0 != "\"" }.split { !$0.isNumber }.compactMap {
            Int32($0)
        }
        for (error, code) in Self.table { #expect(codes.contains(code), "\(code), for \(error.caseName)") }
        #expect(codes.contains(0) && codes.contains(1))
    }

    @Test func messages() {
        for (error, _) in Self.table {
            let text = "\(error)"
            #expect(!text.isEmpty && !text.contains("Optional"), "\(text)")
            let isCommand =
                text.contains("coffer ") || text.hasSuffix(": cp lock lock.new && mv lock.new lock")
            #expect(text == "text" || text.hasSuffix(".") || isCommand, "\(text)")
        }
        let locked = ClientError.profile(
            .locked(LockNote(process: 4711, mountPoint: "/home/a/Coffer", socket: "/s")))
        #expect("\(locked)".contains("4711") && "\(locked)".contains("/home/a/Coffer"))
        #expect("\(ClientError.profile(.tooManyAttempts(seconds: 1)))".contains("1 second."))
        #expect("\(ClientError.profile(.wrongPassphrase(hint: "horse")))".contains("horse"))
    }
}
