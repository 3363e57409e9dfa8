import CofferVault
import Foundation
import Testing

@testable import CofferClient

/// The remote of a vault: set, removed, and moved.
@Suite(.serialized, .ownThread) struct RemoteSettingTests {
    private let place: MeetingPlace

    init() throws { place = try MeetingPlace() }

    /// The log stays the same, whether or not its commits were sent.
    @Test func aRemoteIsRemovedAndSetAgain() throws {
        let (alice, bob) = try place.pair()
        let log = try #require(alice.profile.shares.first).log
        try alice.write("x", to: "before", in: "Personal")
        _ = try alice.ask(RemoteRequest.remove(vault: "Personal"))
        #expect(alice.error(SyncRequest(vault: "Personal"))?.caseName == "noRemote")
        try alice.write("x", to: "between", in: "Personal")
        let other = try TemporaryDirectory()
        #expect(
            alice.error(RemoteRequest.add(vault: "Personal", url: "file://\(other.path)"))?.caseName
                == "otherRemote")
        #expect(alice.shared.all.isEmpty)
        _ = try alice.ask(RemoteRequest.add(vault: "Personal", url: place.url))
        #expect(alice.profile.shares.map(\.log) == [log])
        for person in [alice, bob] { _ = try person.sync() }
        #expect(try bob.has("before", in: "Ours") && bob.has("between", in: "Ours"))
        #expect(try bob.sync().first?.failure == nil)
    }

    /// A moved remote is found at its new place.
    @Test func aMovedRemote() throws {
        let (alice, _) = try place.pair()
        _ = try alice.ask(RemoteRequest.remove(vault: "Personal"))
        let other = try TemporaryDirectory()
        let moved = "\(other.path)/moved"
        try FileManager.default.copyItem(atPath: place.folder.path, toPath: moved)
        _ = try alice.ask(RemoteRequest.add(vault: "Personal", url: "file://\(moved)"))
        #expect(try alice.sync().first?.failure == nil)
    }

    @Test func aRemoteIsMoved() throws {
        let (alice, bob) = try place.pair()
        let other = try TemporaryDirectory()
        let moved = "\(other.path)/moved to"
        // Nothing is put into another vault's folder, and the remote is unchanged.
        #expect(
            alice.error(RemoteRequest.move(vault: "Personal", url: other.path))?.caseName == "otherRemote")
        #expect(try FileManager.default.contentsOfDirectory(atPath: other.path).isEmpty)
        #expect(alice.error(RemoteRequest.move(vault: "Personal", url: moved))?.caseName == "remoteFailed")
        #expect(try alice.sync().first?.remote == place.url)
        try FileManager.default.copyItem(atPath: place.folder.path, toPath: moved)
        try alice.write("x", to: "after", in: "Personal")
        _ = try alice.ask(RemoteRequest.move(vault: "Personal", url: moved))
        _ = try bob.ask(RemoteRequest.move(vault: "Ours", url: moved))
        for person in [alice, bob] { #expect(try person.sync().first?.failure == nil) }
        #expect(try bob.has("after", in: "Ours"))
        #expect(alice.profile.shares.map(\.url) == ["file://\(other.path)/moved%20to"])
    }

    /// A copy from before a change of the members would hide that change from this device.
    @Test func aRemoteIsMovedToAnOldCopy() throws {
        let (alice, _) = try place.pair()
        let other = try TemporaryDirectory()
        let copy = "\(other.path)/copy"
        try FileManager.default.copyItem(atPath: place.folder.path, toPath: copy)
        let bob = try #require(try alice.members().members.first { !$0.isThis })
        _ = try alice.ask(MemberRequest.setRole(vault: "Personal", member: bob.identity, role: "reader"))
        #expect(alice.error(RemoteRequest.move(vault: "Personal", url: copy))?.caseName == "incompleteRemote")
        #expect(try alice.sync().first?.remote == place.url)
    }

    /// A copy from before the last commit would get the next one after a gap.
    @Test func aRemoteIsMovedToACopyWithoutTheLastCommit() throws {
        let (alice, bob) = try place.pair()
        let other = try TemporaryDirectory()
        let copy = "\(other.path)/copy"
        try FileManager.default.copyItem(atPath: place.folder.path, toPath: copy)
        try alice.write("x", to: "late", in: "Personal")
        #expect(try alice.sync().map(\.failure) == [nil])
        #expect(alice.error(RemoteRequest.move(vault: "Personal", url: copy))?.caseName == "incompleteRemote")
        #expect(try alice.sync().map(\.remote) == [place.url])
        let whole = "\(other.path)/whole"
        try FileManager.default.copyItem(atPath: place.folder.path, toPath: whole)
        _ = try alice.ask(RemoteRequest.move(vault: "Personal", url: whole))
        _ = try bob.ask(RemoteRequest.move(vault: "Ours", url: whole))
        for person in [alice, bob] { #expect(try person.sync().map(\.failure) == [nil]) }
        #expect(try bob.has("late", in: "Ours"))
    }

    /// Each member reaches the remote under its own path.
    @Test func aJoiningUserHasAnotherPath() throws {
        let (alice, _) = try place.pair()
        let other = try TemporaryDirectory()
        let way = "\(other.path)/way"
        try FileManager.default.createSymbolicLink(atPath: way, withDestinationPath: place.folder.path)
        let test = try TestProfile()
        do {
            let carol = try OpenProfile(test)
            _ = try carol.ask(
                JoinRequest(invite: try alice.invite(), name: "Ours", remote: way, waits: false))
        }
        // Kept until the vault is joined, and then for good.
        let carol = try OpenProfile(test)
        #expect(carol.profile.joins.map(\.url) == ["file://\(way)"])
        _ = try alice.sync()
        #expect(try carol.sync().first?.remote == nil)
        #expect(try carol.sync("Ours").first?.remote == "file://\(way)")
    }

    /// Only if no other member loses it; then nothing is left of it or of the folder.
    @Test func aVaultIsDeletedAtItsRemote() throws {
        let (alice, bob) = try place.pair()
        #expect(bob.error(VaultRequest.delete(name: "Ours", atRemote: true))?.caseName == "notOwner")
        #expect(
            alice.error(VaultRequest.delete(name: "Personal", atRemote: true))?.caseName == "othersAreMembers"
        )
        #expect(alice.names() == ["Personal"] && bob.names() == ["Personal", "Ours"])
        _ = try alice.ask(
            MemberRequest.remove(
                vault: "Personal", member: try #require(alice.members().members.first { !$0.isThis }).identity
            ))
        _ = try alice.ask(VaultRequest.delete(name: "Personal", atRemote: true))
        #expect(alice.names().isEmpty && alice.profile.shares.isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.folder.path).isEmpty)
    }

    /// A first try failed halfway: all that the members' chain, keys and logs consist of is gone, but for `format`.
    @Test func aHalfDeletedVaultIsDeletedByASecondAttempt() throws {
        let alice = try OpenProfile()
        _ = try alice.ask(RemoteRequest.add(vault: "Personal", url: place.url))
        try alice.write("x", to: "file", in: "Personal")
        _ = try alice.sync()
        let vault = try #require(alice.profile.shares.first).vault
        let folder = "\(place.folder.path)/vaults/\(vault)"
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name != "format" {
            try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        }
        try alice.profile.changeUse(of: vault) { $0.isBeingDeleted = true }
        _ = try alice.ask(VaultRequest.delete(name: "Personal", atRemote: true))
        #expect(alice.names().isEmpty && alice.profile.shares.isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.folder.path).isEmpty)
    }

    /// The first attempt succeeded, but its answer was lost; an unmounted folder looks the same, and is not mistaken for
    /// that unless a deletion was begun.
    @Test func aVaultGoneAtItsRemoteIsDeletedHere() throws {
        let test = try TestProfile()
        do {
            let alice = try OpenProfile(test)
            _ = try alice.ask(RemoteRequest.add(vault: "Personal", url: place.url))
            _ = try alice.sync()
            try FileManager.default.removeItem(atPath: "\(place.folder.path)/vaults")
            let error = alice.error(VaultRequest.delete(name: "Personal", atRemote: true))
            #expect(error?.caseName == "notSynced")
            #expect(alice.names() == ["Personal"])
            let vault = try #require(alice.profile.shares.first).vault
            try alice.profile.changeUse(of: vault) { $0.isBeingDeleted = true }
        }
        let alice = try OpenProfile(test)
        _ = try alice.ask(VaultRequest.delete(name: "Personal", atRemote: true))
        #expect(alice.names().isEmpty && alice.profile.shares.isEmpty)
    }

    /// A copy from before the last commit, or without a pack, is refused.
    @Test(arguments: ["commit", "pack"]) func anIncompleteCopyIsNotAdded(missing: String) throws {
        let (alice, bob) = try place.pair()
        try alice.write("x", to: "late", in: "Personal")
        let other = try TemporaryDirectory()
        let copy = "\(other.path)/copy"
        if missing == "commit" { try FileManager.default.copyItem(atPath: place.folder.path, toPath: copy) }
        _ = try alice.sync()
        if missing == "pack" {
            try FileManager.default.copyItem(atPath: place.folder.path, toPath: copy)
            let vault = try #require(alice.profile.shares.first).vault
            try FileManager.default.removeItem(atPath: "\(copy)/vaults/\(vault)/packs")
        }
        _ = try alice.ask(RemoteRequest.remove(vault: "Personal"))
        #expect(alice.error(RemoteRequest.add(vault: "Personal", url: copy))?.caseName == "incompleteRemote")
        _ = try alice.ask(RemoteRequest.add(vault: "Personal", url: place.url))
        for person in [alice, bob] { #expect(try person.sync().map(\.failure) == [nil]) }
        #expect(try bob.has("late", in: "Ours"))
    }

    /// The objects at the remote belong to others as well, and stay unless the user says otherwise.
    @Test func aVaultIsDeletedHereOnly() throws {
        let (alice, bob) = try place.pair()
        _ = try alice.ask(VaultRequest.delete(name: "Personal"))
        #expect(try bob.sync().first?.failure == nil)
    }

    @Test func aProfileIsOpenedAgain() throws {
        let test = try TestProfile()
        var invite = ""
        do {
            let alice = try OpenProfile(test)
            _ = try alice.ask(RemoteRequest.add(vault: "Personal", url: place.url))
            invite = try alice.invite()
        }
        do {
            let alice = try OpenProfile(test)
            #expect(try alice.members().invites.count == 1)
            let bob = try OpenProfile()
            _ = try bob.ask(JoinRequest(invite: invite, name: nil, waits: false))
            _ = try alice.sync()
            _ = try bob.sync()
            #expect(bob.names() == ["Personal", "Personal 2"])
            #expect(try alice.members().invites.isEmpty)
        }
        // Abandoned content stays abandoned.
        do { _ = try OpenProfile(test).ask(RemoteRequest.remove(vault: "Personal")) }
        let alice = try OpenProfile(test)
        #expect(
            alice.shared.all.isEmpty && alice.profile.shares.count == 1 && alice.vaults.problems.all.isEmpty)
    }

    @Test func anotherCommandIsRunning() throws {
        let (alice, _) = try place.pair()
        let id = try #require(alice.profile.shares.first).vault
        try alice.shared.alone(id, "Personal") { () throws(ClientError) in
            #expect(alice.error(RemoteRequest.remove(vault: "Personal"))?.caseName == "vaultBusy")
            #expect(alice.error(VaultRequest.delete(name: "Personal"))?.caseName == "vaultBusy")
        }
        #expect(alice.error(RemoteRequest.remove(vault: "Personal")) == nil)
    }
}
