import CofferVault
import Foundation
import Testing

@testable import CofferClient

/// The remote of a vault: given, taken away, moved.
@Suite(.serialized, .ownThread) struct RemoteSettingTests {
    private let place: MeetingPlace

    init() throws { place = try MeetingPlace() }

    /// The log stays the same, whose commits were sent or not.
    @Test func aRemoteIsTakenAwayAndGivenBack() throws {
        let (alice, bob) = try place.pair()
        let log = try #require(alice.profile.shares.first).log
        try alice.write("x", to: "before", in: "Personal")
        _ = try alice.ask(.removeRemote(vault: "Personal"))
        #expect(alice.error(.sync(vault: "Personal"))?.caseName == "noRemote")
        try alice.write("x", to: "between", in: "Personal")
        let other = try TemporaryDirectory()
        #expect(
            alice.error(.addRemote(vault: "Personal", url: "file://\(other.path)"))?.caseName
                == "otherRemote")
        #expect(alice.shared.all.isEmpty)
        _ = try alice.ask(.addRemote(vault: "Personal", url: place.url))
        #expect(alice.profile.shares.map(\.log) == [log])
        for person in [alice, bob] { _ = try person.sync() }
        #expect(try bob.has("before", in: "Ours") && bob.has("between", in: "Ours"))
        #expect(try bob.sync().first?.failure == nil)
    }

    /// A remote that was moved is found at its new place.
    @Test func aMovedRemote() throws {
        let (alice, _) = try place.pair()
        _ = try alice.ask(.removeRemote(vault: "Personal"))
        let other = try TemporaryDirectory()
        let moved = "\(other.path)/moved"
        try FileManager.default.copyItem(atPath: place.folder.path, toPath: moved)
        _ = try alice.ask(.addRemote(vault: "Personal", url: "file://\(moved)"))
        #expect(try alice.sync().first?.failure == nil)
    }

    @Test func aProfileIsOpenedAgain() throws {
        let test = try TestProfile()
        var invite = ""
        do {
            let alice = try OpenProfile(test)
            _ = try alice.ask(.addRemote(vault: "Personal", url: place.url))
            invite = try alice.invite()
        }
        do {
            let alice = try OpenProfile(test)
            #expect(try alice.members().invites.count == 1)
            let bob = try OpenProfile()
            _ = try bob.ask(.join(invite: invite, name: nil, waits: false))
            _ = try alice.sync()
            _ = try bob.sync()
            #expect(bob.names() == ["Personal", "Personal 2"])
            #expect(try alice.members().invites.isEmpty)
        }
        // What is given up stays so.
        do { _ = try OpenProfile(test).ask(.removeRemote(vault: "Personal")) }
        let alice = try OpenProfile(test)
        #expect(
            alice.shared.all.isEmpty && alice.profile.shares.count == 1 && alice.vaults.problems.all.isEmpty)
    }

    @Test func anotherCommandIsAtIt() throws {
        let (alice, _) = try place.pair()
        let id = try #require(alice.profile.shares.first).vault
        try alice.shared.alone(id, "Personal") { () throws(ProfileError) in
            #expect(alice.error(.removeRemote(vault: "Personal"))?.caseName == "vaultBusy")
            #expect(alice.error(.deleteVault(name: "Personal"))?.caseName == "vaultBusy")
        }
        #expect(alice.error(.removeRemote(vault: "Personal")) == nil)
    }
}
