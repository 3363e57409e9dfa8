import CofferFUSE
import CofferFormat
import CofferSystem
import CofferVault
import Foundation
import Testing

@testable import CofferClient

/// The vaults of a profile: names, slots, and remains of removed ones.
@Suite(.serialized) struct VaultListTests {
    private func create(_ profile: Profile, _ name: String) -> ClientError? {
        clientError { () throws(ClientError) in try profile.createVault(named: name, owner: .current) }
    }

    private func rename(_ profile: Profile, _ name: String, _ newName: String) -> ClientError? {
        clientError { () throws(ClientError) in try profile.renameVault(name, to: newName) }
    }

    @Test func names() throws {
        let test = try TestProfile()
        let profile = try test.unlock()
        let bad = [
            "", ".", "..", "a/b", "/", "a\0b", String(repeating: "x", count: 256),
            String(repeating: "é", count: 128), ".hidden", "...", ".Trash-1000",
        ]
        for name in bad {
            #expect(create(profile, name)?.caseName == "invalidVaultName", "\(name)")
            #expect(rename(profile, "Personal", name)?.caseName == "invalidVaultName", "\(name)")
        }
        let good = [
            String(repeating: "x", count: 255), "…", "ünï 🐴", " ", "-f", "a\nb", "a.b.", "personal", "é",
            "e\u{301}",
        ]
        for name in good.dropLast() { #expect(create(profile, name) == nil, "\(name)") }
        #expect(profile.vaults.count == good.count)
        #expect(create(profile, "Personal")?.caseName == "vaultExists")
        // One slot and one directory each; nothing is left of refused ones.
        #expect(Set(profile.vaults.map(\.slot)).count == good.count)
        #expect(try FileManager.default.contentsOfDirectory(atPath: test.location.vaults).count == good.count)
    }

    /// To a file system, names are bytes: two that look alike are different.
    @Test func namesThatLookAlike() throws {
        let test = try TestProfile()
        let profile = try test.unlock()
        #expect(create(profile, "é") == nil)
        #expect(create(profile, "e\u{301}") == nil)
        let names = profile.vaults.map { Array($0.name.utf8) }
        #expect(Set(names).count == 3)
    }

    @Test func slotsAreNotUsedAgain() throws {
        let test = try TestProfile()
        do {
            let profile = try test.unlock()
            #expect(create(profile, "Second") == nil)
            let second = try #require(profile.vaults.last)
            #expect(second.slot == 2)
            try profile.deleteVault(second)
            #expect(!FileManager.default.fileExists(atPath: profile.directory(of: second)))
            #expect(create(profile, "Third") == nil)
        }
        let profile = try test.unlock()
        #expect(profile.vaults.map(\.slot) == [1, 3])
        #expect(profile.vaults.map(\.name) == ["Personal", "Third"])
    }

    /// Commands and programs in the mount make vaults at the same time.
    @Test func madeAtTheSameTime() async throws {
        let test = try TestProfile()
        let profile = try test.unlock()
        let errors = await withTaskGroup(of: String?.self) { group in
            for name in ["A", "B", "C", "D", "A"] {
                group.addTask { self.create(profile, name)?.caseName }
            }
            return await group.reduce(into: [String]()) { if let name = $1 { $0.append(name) } }
        }
        #expect(errors == ["vaultExists"])
        #expect(profile.vaults.map(\.name).sorted() == ["A", "B", "C", "D", "Personal"])
        #expect(profile.vaults.map(\.slot) == [1, 2, 3, 4, 5])
        #expect(try FileManager.default.contentsOfDirectory(atPath: test.location.vaults).count == 5)
    }

    @Test func renameKeepsEverythingElse() throws {
        let test = try TestProfile()
        let before = try #require(try test.unlock().vaults.first)
        let files = try test.vaultFiles()
        try test.unlock().renameVault("Personal", to: "Private")
        let profile = try test.unlock()
        let after = try #require(profile.vaults.first)
        #expect(after.name == "Private")
        #expect(after.id == before.id && after.slot == before.slot && after.created == before.created)
        #expect(try test.vaultFiles() == files)
        #expect(rename(profile, "Personal", "X")?.caseName == "noSuchVault")
        #expect(rename(profile, "Private", "Private") == nil)
        #expect(create(profile, "Personal") == nil)
        #expect(rename(profile, "Private", "Personal")?.caseName == "vaultExists")
    }

    /// Through the root of the mount, with errors of a file system.
    @Test func asDirectories() throws {
        let test = try TestProfile()
        let vaults = try test.open()
        defer { vaults.close() }
        let name = Array("Taxes".utf8)
        #expect(try vaults.createVault(named: name, by: .current).slot == 2)
        #expect(
            number { () throws(FileSystemError) in _ = try vaults.createVault(named: name, by: .current) }
                == EEXIST)
        let bad = number { () throws(FileSystemError) in
            _ = try vaults.createVault(named: [0xFF, 0xFE], by: .current)
        }
        #expect(bad == EINVAL)
        try vaults.renameVault(name, to: Array("Other".utf8))
        #expect(vaults.vault(named: name) == nil && vaults.vault(slot: 2)?.name == "Other")
        #expect(number { () throws(FileSystemError) in try vaults.renameVault(name, to: name) } == ENOENT)
        #expect(number { () throws(FileSystemError) in try vaults.removeEmptyVault(named: name) } == ENOENT)
        try vaults.removeEmptyVault(named: Array("Other".utf8))
        #expect(vaults.vaults.map(\.name) == ["Personal"])
    }

    private func number(_ body: () throws(FileSystemError) -> Void) -> Int32 {
        do throws(FileSystemError) {
            try body()
            return 0
        } catch {
            return error.errno
        }
    }

    @Test func readOnlyRefusesChanges() throws {
        let test = try TestProfile()
        let vaults = OpenVaults(try test.unlock(), problems: .init(), isReadOnly: true)
        defer { vaults.close() }
        let name = Array("Personal".utf8)
        #expect(
            number { () throws(FileSystemError) in _ = try vaults.createVault(named: [65], by: .current) }
                == EROFS)
        #expect(number { () throws(FileSystemError) in try vaults.renameVault(name, to: [65]) } == EROFS)
        #expect(number { () throws(FileSystemError) in try vaults.removeEmptyVault(named: name) } == EROFS)
    }

    /// A vault without its store is left out and reported; the others exist.
    @Test func vaultThatCannotBeOpened() throws {
        let test = try TestProfile()
        do {
            let profile = try test.unlock()
            #expect(create(profile, "Other") == nil)
            try FileManager.default.removeItem(
                atPath: profile.directory(of: try #require(profile.vaults.first)))
        }
        let vaults = try test.open()
        defer { vaults.close() }
        #expect(vaults.vaults.map(\.name) == ["Other"])
        #expect(vaults.problems.all.count == 1)
        #expect(vaults.problems.all.first?.text.contains("Personal") == true)
    }

    /// A vault that could not be deleted continues to work.
    @Test func deletingThatFails() throws {
        let test = try TestProfile()
        let vaults = try test.open()
        defer { vaults.close() }
        // In the way of the new profile file.
        let obstacle = "\(test.location.profile).new"
        try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
        #expect(
            clientError { () throws(ClientError) in try vaults.delete("Personal") }?.caseName == "system")
        let again = try #require(vaults.vaults.first)
        #expect(again.name == "Personal")
        #expect(try again.vault.attributes(of: Vault.rootNumber).links == 2)
        try FileManager.default.removeItem(atPath: obstacle)
        try vaults.delete("Personal")
        #expect(vaults.vaults.isEmpty)
    }

    /// Remains of a vault after a crash are reported, and not touched.
    @Test func directoriesWithoutAVault() throws {
        let test = try TestProfile()
        let stray = "\(test.location.vaults)/\(String(repeating: "0a", count: 16))"
        try FileManager.default.createDirectory(atPath: stray, withIntermediateDirectories: false)
        let vaults = try test.open()
        defer { vaults.close() }
        #expect(vaults.problems.all.map(\.text).contains { $0.hasPrefix(stray) })
        #expect(FileManager.default.fileExists(atPath: stray))
    }

    /// A symbolic link in the place of a store's directory leads nowhere.
    @Test func linksInPlaceOfDirectories() throws {
        for name in ["", "/packs"] {
            let test = try TestProfile()
            let path: String
            do {
                let profile = try test.unlock()
                path = profile.directory(of: try #require(profile.vaults.first)) + name
            }
            try FileManager.default.moveItem(atPath: path, toPath: "\(test.location.path)/elsewhere")
            try FileManager.default.createSymbolicLink(
                atPath: path, withDestinationPath: "\(test.location.path)/elsewhere")
            let vaults = try test.open()
            defer { vaults.close() }
            #expect(vaults.vaults.isEmpty, "\(name)")
            #expect(vaults.problems.all.contains { $0.text.contains("cannot be opened") })
        }
    }
}
