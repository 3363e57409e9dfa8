@testable import CofferRemote
import CofferSystem
import Foundation
import RemoteConformance
import Synchronization
import Testing

/// The peculiarities of folders: mounts, other tools, and leftovers.
@Suite struct FolderTests {
    private let directory: TemporaryDirectory
    private let remote: FolderBackend
    private let vault = someVault()
    private var path: String { "\(directory.path)/\(vault.prefix)" }

    init() throws {
        directory = try TemporaryDirectory()
        remote = FolderBackend(path: directory.path)
    }

    private func makeVault() async throws {
        try await remote.put(vault.format, .memory([1]), ifAbsent: true)
    }

    private func isUnreachable<Value>(_ body: () async throws(RemoteError) -> Value) async -> Bool {
        do throws(RemoteError) {
            _ = try await body()
            return false
        } catch {
            guard case .unreachable = error else { return false }
            return error.canRetryHelp
        }
    }

    /// Every call except the one that makes a vault.
    private func expectUnreachable() async {
        let name = vault.member(0)
        let vault = vault
        #expect(await isUnreachable { () async throws(RemoteError) in try await remote.get(name, 0..<1) })
        #expect(await isUnreachable { () async throws(RemoteError) in try await remote.delete(name) })
        #expect(
            await isUnreachable { () async throws(RemoteError) in
                try await remote.list(vault.packs, after: nil)
            })
        for ifAbsent in [true, false] {
            #expect(
                await isUnreachable { () async throws(RemoteError) in
                    try await remote.put(name, .memory([1]), ifAbsent: ifAbsent)
                })
        }
    }

    @Test func nothingIsMadeInAnUnmountedFolder() async throws {
        await expectUnreachable()
        #expect(try Directory.names(in: directory.path) == [])
    }

    @Test(.enabled(if: FolderPlaces.canMount))
    func anUnmountedFolderIsUnreachableUntilItIsBack() async throws {
        try makeVault(in: directory.path)
        try directory.mountMemory(1 << 20)
        await expectUnreachable()
        #expect(try Directory.names(in: directory.path) == [])
        directory.unmount()
        #expect(try await remote.all(vault.format) == [1])
        try await remote.put(vault.member(0), .memory([2]), ifAbsent: true)
    }

    private func makeVault(in path: String) throws {
        try Directory.makeAll("\(path)/\(vault.prefix)")
        try WholeFile.replace("\(path)/\(vault.format)", with: [1])
    }

    @Test func aMissingFolderIsNeverMade() async throws {
        let missing = FolderBackend(path: "\(directory.path)/missing")
        #expect(
            await isUnreachable { () async throws(RemoteError) in
                try await missing.put(vault.format, .memory([1]), ifAbsent: true)
            })
        #expect(try Directory.names(in: directory.path) == [])
    }

    @Test func namesOutsideOfVaultsAreRefused() async throws {
        for text in ["one", "vaults/one", "other/x/y"] {
            let name = try #require(RemoteName(text))
            do throws(RemoteError) {
                try await remote.put(name, .memory([1]), ifAbsent: true)
                Issue.record("\(name) was put")
            } catch {
                guard case .refused = error else { throw error }
            }
        }
        #expect(try Directory.names(in: directory.path) == [])
    }

    @Test func noDescriptorKeepsTheFolderBusy() async throws {
        try await makeVault()
        _ = try await remote.list(.all, after: nil)
        let here = try Directory.resolve(directory.path)
        let open = try Directory.names(in: "/proc/self/fd").filter { number in
            (try? Directory.resolve("/proc/self/fd/\(number)").hasPrefix(here)) ?? false
        }
        #expect(open == [])
    }

    @Test func filesOfOtherToolsAreNoObjects() async throws {
        try await makeVault()
        try await remote.put(vault.member(0), .memory([1]), ifAbsent: true)
        let before = try await remote.all(.all)
        for name in [
            ".syncthing.0000000000000001.tmp", "0000000000000000.sync-conflict-20261120-101112-ABCDEFG",
            "~syncthing~x.tmp", "Copy of 0000000000000000", ".nfs00000001", "0000000000000000~", "a.",
        ] {
            try WholeFile.replace("\(path)members/\(name)", with: [9])
        }
        try Directory.make("\(directory.path)/.stfolder")
        try Directory.make("\(path)members/.stversions")
        #expect(try await remote.all(.all) == before)
    }

    @Test func linksPipesAndDirectoriesAreNoObjectsAndLeadNowhere() async throws {
        try await makeVault()
        let secret = try TemporaryDirectory()
        try WholeFile.replace("\(secret.path)/format", with: [5])
        try Directory.make("\(path)packs")
        #expect(symlink("\(secret.path)/format", "\(path)packs/a") == 0)
        #expect(symlink(secret.path, "\(path)requests") == 0)
        #expect(mkfifo("\(path)packs/b", 0o600) == 0)
        try Directory.make("\(path)packs/c")
        #expect(try await remote.all(.all).map(\.name) == [vault.format])
        for rest in ["packs/a", "packs/b", "packs/c", "requests/format"] {
            let name = try #require(RemoteName(vault.prefix.text + rest))
            do throws(RemoteError) {
                _ = try await remote.get(name, 0..<1)
                Issue.record("\(rest) was read")
            } catch {
                guard !error.canRetryHelp else { throw error }
            }
        }
        // Nothing is written through a link; an object can still replace it.
        let inside = try #require(RemoteName("\(vault.prefix)requests/new"))
        try await remote.put(inside, .memory([1]), ifAbsent: false)
        #expect(try await remote.all(inside) == [1])
        // Replacing or removing a link does not affect its target.
        let link = try #require(RemoteName("\(vault.prefix)packs/a"))
        try await remote.put(link, .memory([6]), ifAbsent: false)
        #expect(try await remote.all(link) == [6])
        #expect(try WholeFile.read("\(secret.path)/format", limit: 10) == [5])
        #expect(try Directory.names(in: secret.path) == ["format"])
    }

    /// Nor does anything else that is no object; it is kept.
    @Test(arguments: [true, false]) func whatIsNoObjectIsNoObstacle(ifAbsent: Bool) async throws {
        try await makeVault()
        try Directory.make("\(path)members")
        try Directory.make("\(path)members/0000000000000000")
        try WholeFile.replace("\(path)members/0000000000000000/inside", with: [7])
        try Directory.make("\(path)members/0000000000000001")
        #expect(mkfifo("\(path)members/0000000000000002", 0o600) == 0)
        #expect(symlink("nowhere", "\(path)members/0000000000000003") == 0)
        try WholeFile.replace("\(path)wraps", with: [8])
        for number in UInt64(0)..<4 {
            await #expect(throws: RemoteError.absent) { try await remote.get(vault.member(number), 0..<1) }
            if number == 1 { try await remote.delete(vault.member(number)) }
            try await remote.put(vault.member(number), .memory([UInt8(number)]), ifAbsent: ifAbsent)
            #expect(try await remote.all(vault.member(number)) == [UInt8(number)])
        }
        let wraps = vault.wraps(epoch: 2, hash: [UInt8](repeating: 1, count: 32))
        try await remote.put(wraps, .memory([9]), ifAbsent: ifAbsent)
        #expect(try await remote.all(wraps) == [9])
        // A former object stays in the way.
        await #expect(throws: RemoteError.exists) {
            try await remote.put(vault.member(0), .memory([1]), ifAbsent: true)
        }
        let aside = try Directory.names(in: "\(path).incoming")
        #expect(aside.count == 5 && aside.allSatisfy { $0.hasPrefix("aside.") })
        let kept = aside.compactMap { try? WholeFile.read("\(path).incoming/\($0)/inside", limit: 9) }
        #expect(kept == [[7]])
    }

    /// Something other than a directory in the place of the temporary files; nothing is made through a link.
    @Test(arguments: ["file", "link", "pipe"], [true, false])
    func nothingIsInPlaceOfTheTemporaryFiles(what: String, hasLinks: Bool) async throws {
        try await makeVault()
        let incoming = String("\(path).incoming")
        try Directory.removeAll(incoming)
        try Directory.make("\(directory.path)/elsewhere")
        switch what {
        case "file": try WholeFile.replace(incoming, with: [7])
        case "link": #expect(symlink("\(directory.path)/elsewhere", incoming) == 0)
        default: #expect(mkfifo(incoming, 0o600) == 0)
        }
        var calls = FolderCalls()
        if !hasLinks {
            calls.link = { (_, _, _, name) throws(SystemError) in
                throw SystemError("link", code: EPERM, on: name)
            }
        }
        let remote = FolderBackend(
            path: directory.path, publishing: FolderPublishing.allCases, calls: calls)
        for number in UInt64(0)..<2 {
            try await remote.put(vault.member(number), .memory([1]), ifAbsent: number == 0)
            #expect(try await remote.all(vault.member(number)) == [1])
        }
        #expect(try Directory.names(in: "\(directory.path)/elsewhere") == [])
        let aside = try Directory.names(in: path).filter { $0.hasPrefix(".aside.") }
        #expect(aside.count == 1)
        if what == "file" {
            #expect(try WholeFile.read(path + aside.joined(), limit: 9) == [7])
        }
        let names = try await remote.all(vault.prefix)
        #expect(names.allSatisfy { !$0.name.text.contains("aside") })
    }

    /// Without write permission, a directory can be renamed, but not moved into another directory.
    @Test(arguments: [EACCES, EPERM, EXDEV]) func whatCannotBeMovedAwayIsRenamed(code: Int32) async throws {
        try await makeVault()
        try Directory.make("\(path)members")
        try Directory.make("\(path)members/0000000000000000")
        try WholeFile.replace("\(path)members/0000000000000000/inside", with: [7])
        #expect(mkfifo("\(path)members/0000000000000001", 0o600) == 0)
        var calls = FolderCalls()
        calls.moveAside = { (from, name, target, newName) throws(SystemError) in
            guard from.path == target.path else { throw SystemError("rename", code: code, on: newName) }
            try from.rename(name, to: target, newName)
        }
        let remote = FolderBackend(
            path: directory.path, publishing: FolderPublishing.allCases, calls: calls)
        for number in UInt64(0)..<2 {
            try await remote.put(vault.member(number), .memory([UInt8(number)]), ifAbsent: number == 0)
            #expect(try await remote.all(vault.member(number)) == [UInt8(number)])
        }
        let aside = try Directory.names(in: "\(path)members").filter { $0.hasPrefix(".aside.") }
        #expect(aside.count == 2)
        let kept = aside.compactMap { try? WholeFile.read("\(path)members/\($0)/inside", limit: 9) }
        #expect(kept == [[7]])
        #expect(try await remote.all(vault.members).count == 2)
    }

    /// Some network file systems send a file only when it is closed, and report errors only then.
    @Test(arguments: [true, false]) func aFileThatCannotBeSentIsNotPut(ifAbsent: Bool) async throws {
        try await makeVault()
        let isBroken = Mutex(true)
        var calls = FolderCalls()
        calls.flush = { file throws(SystemError) in
            try file.flush()
            if isBroken.withLock({ $0 }) { throw SystemError("close", code: EIO, on: "a file") }
        }
        let remote = FolderBackend(
            path: directory.path, publishing: FolderPublishing.allCases, calls: calls)
        await #expect(throws: RemoteError.self) {
            try await remote.put(vault.member(0), .memory([1]), ifAbsent: ifAbsent)
        }
        #expect(try await remote.all(vault.members).isEmpty)
        isBroken.withLock { $0 = false }
        try await remote.put(vault.member(0), .memory([1]), ifAbsent: ifAbsent)
        #expect(try await remote.all(vault.member(0)) == [1])
    }

    @Test func endedCallsLeaveNothingBehind() async throws {
        try await makeVault()
        try await remote.put(vault.member(0), .memory([1]), ifAbsent: true)
        await #expect(throws: RemoteError.exists) {
            try await remote.put(vault.member(0), .memory([1]), ifAbsent: true)
        }
        let short = MemoryFile([1, 2, 3])
        await #expect(throws: RemoteError.self) {
            try await remote.put(vault.member(1), .file(short, 0..<9), ifAbsent: true)
        }
        #expect(try Directory.names(in: "\(path).incoming") == [])
    }

    @Test func whatWasLeftBehindLongAgoGoesAndWhatLivesStays() async throws {
        try await makeVault()
        let incoming = "\(path).incoming"
        for name in ["put.old", "put.locked", "put.young", "claim.old", "other"] {
            try WholeFile.replace("\(incoming)/\(name)", with: [1])
            guard name != "put.young" else { continue }
            var times = [
                timeval(tv_sec: 1_000_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000_000, tv_usec: 0),
            ]
            #expect(utimes("\(incoming)/\(name)", &times) == 0)
        }
        let lock = try FileLock.take("\(incoming)/put.locked")
        let isLocked = if lock == nil { false } else { true }
        #expect(isLocked)
        // A client that has not cleaned up yet.
        let other = FolderBackend(path: directory.path)
        try await other.put(vault.member(0), .memory([1]), ifAbsent: true)
        #expect(try Set(Directory.names(in: incoming)) == ["put.locked", "put.young", "other"])
        _ = consume lock
    }

    /// No client waits an hour for a killed process of this machine.
    @Test func theClaimOfAKilledProcessBlocksNobody() async throws {
        let claiming = FolderBackend(path: directory.path, publishing: [.claim])
        try await makeVault()
        let claim = "\(path).incoming/claim.\(vault.vault).members.\(vault.member(3).last)"
        // No process has a number as high as this.
        try WholeFile.replace(claim, with: Array("\(ClaimHolder.place(1 << 30)).77\n".utf8))
        try await claiming.put(vault.member(3), .memory([1]), ifAbsent: true)
        #expect(try await claiming.all(vault.member(3)) == [1])
        // A living process keeps its claim.
        let other = "\(path).incoming/claim.\(vault.vault).members.\(vault.member(4).last)"
        // So does who has the same number in another container of this machine.
        let here = ClaimHolder.place(1 << 30).split(separator: ".")
        for holder in [ClaimHolder.place(getpid()), "\(here[0]).77.\(here[2])"] {
            try WholeFile.replace(other, with: Array("\(holder).77\n".utf8))
            await #expect(throws: RemoteError.self) {
                try await claiming.put(vault.member(4), .memory([1]), ifAbsent: true)
            }
        }
    }

    /// A process that is slow to remove an abandoned claim does not remove the next one.
    @Test func onlyTheClaimThatWasAbandonedIsRemoved() async throws {
        try await makeVault()
        let incoming = try OpenDirectory.open("\(path).incoming")
        let claim = "\(path).incoming/claim.x"
        try WholeFile.replace(claim, with: Array("\(ClaimHolder.place(1 << 30)).1\n".utf8))
        let abandoned = try #require(FolderClaim.found("claim.x", in: incoming))
        #expect(abandoned.isAbandoned(at: abandoned.modified))
        let next = Array("\(ClaimHolder().text)\n".utf8)
        try WholeFile.replace(claim, with: next)
        FolderClaim.removeAbandoned("claim.x", abandoned, in: incoming)
        #expect(try WholeFile.read(claim, limit: 256) == next)
        let other = try #require(FolderClaim.found("claim.x", in: incoming))
        FolderClaim.removeAbandoned("claim.x", other, in: incoming)
        #expect(try Directory.names(in: "\(path).incoming") == [])
    }

    @Test func noTwoClaimsHaveTheSameHolder() {
        #expect(ClaimHolder().text != ClaimHolder().text)
        #expect(!ClaimHolder.hasEnded(ClaimHolder().text))
        #expect(
            !ClaimHolder.hasEnded("") && !ClaimHolder.hasEnded("..1.")
                && !ClaimHolder.hasEnded("a.0.1073741824.b"))
    }

    @Test func anAbandonedClaimBlocksNobody() async throws {
        let claiming = FolderBackend(path: directory.path, publishing: [.claim])
        try await makeVault()
        let name = vault.member(3)
        let claim = "\(path).incoming/claim.\(vault.vault).members.\(name.last)"
        try WholeFile.replace(claim, with: [])
        var times = [timeval(tv_sec: 1_000_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000_000, tv_usec: 0)]
        #expect(utimes(claim, &times) == 0)
        try await claiming.put(name, .memory([1]), ifAbsent: true)
        #expect(try await remote.all(name) == [1])
        #expect(try Directory.names(in: "\(path).incoming") == [])
    }

    /// More names than a page has, in one directory and below many.
    @Test func largeDirectoriesAreListedInPages() async throws {
        try await makeVault()
        try Directory.make("\(path)packs")
        for number in 0..<5300 { try touch("\(path)packs/p\(number)") }
        for number in 0..<300 {
            try Directory.make("\(path)packs/d\(number)")
            try touch("\(path)packs/d\(number)/x")
        }
        let names = try await remote.all(vault.packs).map(\.name)
        #expect(names.count == 5600)
        #expect(names == names.sorted())
        #expect(Set(names).count == names.count)
    }

    private func touch(_ path: String) throws {
        _ = try Descriptor.open(path, [.writeOnly, .create])
    }

    /// Calls that hang must not stop all other calls of the process: as many hang as the backend has threads.
    @Test func blockedCallsDoNotStopTasks() async throws {
        try await makeVault()
        let gate = Condition(false)
        let calls = (0..<20).map { number in
            Task {
                let file = GatedFile(gate)
                try await remote.put(vault.member(UInt64(number)), .file(file, 0..<1), ifAbsent: true)
            }
        }
        // On the pool's own threads, no thread would be left to open the gate.
        for _ in 0..<100 { await Task.yield() }
        gate.update { $0 = true }
        for call in calls { try await call.value }
        #expect(try await remote.all(vault.members).count == 20)
    }
}

/// A file whose bytes are available once a gate opens.
private final class GatedFile: StorageFile {
    private let gate: Condition<Bool>

    init(_ gate: Condition<Bool>) {
        self.gate = gate
    }

    func read(into buffer: inout MutableRawSpan, at offset: Int) throws(SystemError) -> Int {
        _ = gate.wait { $0 ? true : nil }
        return buffer.byteCount
    }

    func size() throws(SystemError) -> Int { 1 }
    func write(_ bytes: RawSpan, at offset: Int) throws(SystemError) {}
    func truncate(to size: Int) throws(SystemError) {}
    func dataSync() throws(SystemError) {}
    func startWriteback(at offset: Int, count: Int) {}
    func punchHole(at offset: Int, count: Int) throws(SystemError) {}
    func preallocate(at offset: Int, count: Int) throws(SystemError) {}
}
