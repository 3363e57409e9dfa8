import CofferFormat
import CofferRemote
import CofferSync
import CofferSystem
import CofferTrust
import CofferVault
import Foundation
import Testing

@testable import CofferClient

/// The exit codes are an interface: a table of all errors, and that the manual has them.
@Suite struct ExitCodeTests {
    private static let failed = SystemError("open", code: 5, on: "/file")

    static let table: [(ProfileError, Int32)] = [
        (.noProfile(path: "/p"), 66), (.profileExists(path: "/p"), 73), (.damagedProfile(path: "/p"), 65),
        (.newerProfile(path: "/p", found: 2, supported: 1), 65), (.wrongPassphrase(hint: nil), 77),
        (.tooManyAttempts(seconds: 5), 75), (.emptyPassphrase, 77), (.noMemory, 71), (.locked(nil), 75),
        (.locked(LockNote(process: 1, mountPoint: "/m", socket: "/s")), 75), (.noSuchVault(name: "v"), 66),
        (.vaultExists(name: "v"), 73), (.invalidVaultName(name: "v"), 64), (.vaultNotEmpty(name: "v"), 73),
        (.mountPoint(path: "/m", .missing), 72), (.mountPoint(path: "/m", .notDirectory), 72),
        (.mountPoint(path: "/m", .notEmpty), 72), (.mountPoint(path: "/m", .notOurs), 72),
        (.mountPoint(path: "/m", .inUse), 75), (.mountPoint(path: "/m", .busy), 75), (.noFUSE(failed), 69),
        (.notMounted(path: "/m"), 72), (.notPrivate(path: "/p"), 73),
        (.notStored(path: "/m", reason: "no space", isUnmounted: false), 74),
        (.notStored(path: "/m", reason: "no space", isUnmounted: true), 74), (.system(failed), 74),
        (.vault(.damaged(place: "a page")), 65), (.vault(.format(.truncated, place: "a page")), 65),
        (.vault(.noSpace), 74), (.vault(.system(failed)), 74),
        (.control("text"), 76), (.noRemote(vault: "v"), 66), (.hasRemote(vault: "v", url: "file:///r"), 73),
        (.otherRemote(vault: "v", url: "file:///r"), 73),
        (.invalidName("n"), 64), (.hintTellsPassphrase, 64), (.noTerminal, 64), (.passphrasesDiffer, 64),
        (.noSuchInvite(id: "0"), 66), (.othersAreMembers(vault: "v", count: 1), 77),
        (.notOwner(vault: "v"), 77),
        (.sync(vault: "v", .membership(.refused(.lastOwner))), 77), (.sync(vault: "v", .notMember), 77),
        (.sync(vault: "v", .membership(.contended)), 74), (.mountPoint(path: "/m", .inProfile), 72),
        (.incompleteRemote(vault: "v", url: "file:///r"), 73),
        (.vaultBusy(name: "v"), 75), (.olderMount, 76), (.noSuchPath(path: "p", vault: "v"), 66),
        (.notPinned(path: "p", vault: "v"), 66), (.notFetched(vault: "v", bytes: 1, .timedOut), 74),
        (.notFetched(vault: "v", bytes: 1, .damaged(place: "a pack")), 65),
        (.hasVault(name: "v"), 73),
        (.notJoined(.expired), 77), (.notJoined(.noVault), 66), (.notJoined(.remote(.absent)), 74),
        (.notJoined(.linkMissing(1)), 75), (.notJoined(.refused(.withdrawn)), 77),
        (.notJoined(.cancelled), 77), (.noSuchJoin(name: "v"), 66),
        (.noSuchJoin(name: nil), 66), (.requestStays(name: "v", .remote(.absent)), 74),
        (.remoteOnly(vault: "v", items: 1, bytes: 2), 73), (.joinInterrupted, 75),
        (.noSuchMember(name: "m", vault: "v"), 66),
        (.ambiguousMember(name: "m", vault: "v"), 64), (.otherWords(first: 3), 77),
        (.otherWords(first: nil), 77),
        (.noSuchConflict(path: "a"), 66), (.remoteURL(.noScheme), 64), (.remote(.absent), 74),
        (.sync(vault: "v", .noMembers), 74), (.trust(.noSuchInvite), 77),
    ]

    @Test func everyError() {
        for (error, code) in Self.table { #expect(error.exitCode == code, "\(error)") }
        // `caseName` does not compile when a case is added; this number has to grow with it.
        #expect(Set(Self.table.map(\.0.caseName)).count == 51)
    }

    /// What `coffer sync` ends with: the worst of all vaults.
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

    /// What is no error is never told by the code of one, and codes of shells are left alone.
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
            #expect(text == "text" || text.hasSuffix(".") || text.contains("coffer "), "\(text)")
        }
        let locked = ProfileError.locked(LockNote(process: 4711, mountPoint: "/home/a/Coffer", socket: "/s"))
        #expect("\(locked)".contains("4711") && "\(locked)".contains("/home/a/Coffer"))
        #expect("\(ProfileError.tooManyAttempts(seconds: 1))".contains("1 second."))
        #expect("\(ProfileError.wrongPassphrase(hint: "horse"))".contains("horse"))
    }
}
