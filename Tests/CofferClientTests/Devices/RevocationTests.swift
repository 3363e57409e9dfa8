import CofferCrypto
import CofferFormat
import CofferSync
import CofferSystem
import CofferTrust
import Foundation
import Synchronization
import Testing

@testable import CofferClient

/// A device that is lost, and the keys that follow.
@Suite(.serialized, .ownThread) struct RevocationTests {
    private let world: DeviceWorld
    private var place: MeetingPlace { world.place }

    init() throws { world = try DeviceWorld() }

    @Test func theLostDeviceWritesNothingMore() throws {
        let laptop = try world.sharer()
        let lost = try world.paired(laptop, with: "phone")
        try lost.write("before", to: "before", in: "Personal")
        _ = try lost.sync("Personal")
        let old = laptop.profile.identityKeys.signing.publicKey
        let words = try laptop.ask(IdentityRequest.show).fingerprint
        let report = try laptop.ask(RevokeRequest(device: "Alice's phone"))
        #expect(report.device == "Alice's phone" && report.stale.isEmpty)
        #expect(report.vaults.map(\.keys) == ["rotated"] && report.vaults.allSatisfy { $0.failure == nil })
        #expect(laptop.profile.identityKeys.signing.publicKey != old)
        #expect(try laptop.ask(IdentityRequest.show).fingerprint == words, "the same person")
        #expect(laptop.profile.vaults.first?.keys.count == 2, "a new epoch")
        #expect(try laptop.has("before", in: "Personal"), "what it wrote before counts")
        let shared = try #require(laptop.shared.all.first)
        let devices = AwaitedTask { await shared.engine.status.devices }.wait()
        #expect(devices.count == 2 && devices.allSatisfy { $0.hasNewestKeys == $0.isThisDevice })
        // It tries to go on.
        try lost.write("after", to: "after", in: "Personal")
        let refused = try #require(lost.error(SyncRequest(vault: "Personal")))
        #expect(refused.exitCode == 77 && "\(refused)".contains("newer keys than this device"))
        try laptop.write("mine", to: "mine", in: "Personal")
        _ = try laptop.sync("Personal")
        _ = try? lost.sync("Personal")
        #expect(try !laptop.has("after", in: "Personal"), "what it writes later does not")
        #expect(try !lost.has("mine", in: "Personal"), "and it reads nothing new")
        #expect(lost.profile.vaults.first?.keys.count == 1)
        let list = try laptop.ask(DevicesRequest()).devices
        #expect(list.map(\.isTrusted) == [true, false])
        // It is not let in again.
        let again = try world.refresh(lost, from: laptop)
        #expect(again.authorizing.failureName == "revokedDevice" && again.refreshing.failureName == "pairing")
    }

    /// A device that is revoked while another one waits for what it asks receives nothing.
    @Test func aDeviceRevokedInAPairingReceivesNothing() throws {
        let laptop = try OpenProfile()
        let phone = try world.paired(laptop, with: "phone")
        let (address, paper) = (world.address(), Condition<String?>(nil))
        let wait = world.authorize(laptop, at: address) { paper.wait { $0 } }
        var pairing = try JoiningPairing(at: try PairingAddress(address), isHeard: { true }) { code in
            paper.update { $0 = "\(code)" }
        } confirm: { _ throws(ClientError) in
            try laptop.profile.revoke(phone.profile.deviceKeys.id)
            return true
        }
        var refused: ClientError?
        do throws(ClientError) { _ = try pairing.receive(asKnown: phone.profile.deviceKeys) } catch {
            refused = error
        }
        #expect(refused?.caseName == "pairing" && wait().failureName == "revokedDevice")
    }

    /// The remaining devices receive the new keys by a second pairing, and go on in the same vault.
    @Test func theOtherDevicesAreRefreshed() throws {
        let laptop = try world.sharer()
        let desktop = try world.paired(laptop, with: "desktop")
        _ = try world.paired(laptop, with: "phone")
        // The desktop does not know of the phone, and has something that it has not sent.
        try desktop.write("unsent", to: "unsent", in: "Personal")
        let report = try laptop.ask(RevokeRequest(device: "Alice's phone"))
        #expect(report.stale == ["Alice's desktop"])
        let stale = try #require(desktop.error(SyncRequest(vault: "Personal")))
        #expect("\(stale)".contains("coffer device refresh"))
        let outcome = try world.refresh(desktop, from: laptop)
        #expect(outcome.authorizing.failureName == nil && outcome.refreshing.failureName == nil)
        #expect(try outcome.authorizing.get().isNew == false)
        #expect(try desktop.ask(DevicesRequest()).devices.map(\.isTrusted) == [true, true, false])
        _ = try desktop.sync("Personal")
        try desktop.write("again", to: "again", in: "Personal")
        _ = try desktop.sync("Personal")
        _ = try laptop.sync("Personal")
        #expect(try laptop.has("unsent", in: "Personal") && laptop.has("again", in: "Personal"))
        try laptop.write("back", to: "back", in: "Personal")
        _ = try laptop.sync("Personal")
        let last = try #require(try desktop.sync("Personal").first)
        #expect(try desktop.has("back", in: "Personal"))
        #expect(last.failure == nil && last.findings.isEmpty && last.unsentItems == 0)
        // The desktop has nothing newer to give, and says so.
        let nothing = try world.refresh(laptop, from: desktop)
        #expect(nothing.refreshing.failureName == nil)
    }

    /// A device that lacks the newest keys changes neither the list nor the keys, which would fork them.
    @Test func aStaleDeviceChangesNoDevices() throws {
        let laptop = try world.sharer()
        let desktop = try world.paired(laptop, with: "desktop")
        let phone = try world.paired(laptop, with: "phone")
        _ = try world.refresh(desktop, from: laptop)
        _ = try laptop.ask(RevokeRequest(device: "Alice's phone"))
        let (keys, list) = (desktop.profile.identityKeys.signing.publicKey, desktop.profile.devices?.head)
        let refused = try #require(desktop.error(RevokeRequest(device: "laptop")))
        #expect("\(refused)".contains("coffer device refresh") && refused.exitCode == 77)
        let outcome = try world.pair(desktop, with: "tablet")
        #expect(outcome.authorizing.failureName == "sync" && !outcome.location.exists)
        #expect(desktop.profile.identityKeys.signing.publicKey == keys)
        #expect(desktop.profile.devices?.head == list)
        #expect(phone.error(RevokeRequest(device: "laptop")) != nil)
        _ = try world.refresh(desktop, from: laptop)
        _ = try world.paired(desktop, with: "tablet")
    }

    /// Keys and lists never go back, and two lists that differ are not joined.
    @Test func olderAndOtherListsAreRefused() throws {
        let laptop = try OpenProfile()
        let desktop = try world.paired(laptop, with: "desktop")
        _ = try world.paired(laptop, with: "phone")
        let keys = laptop.profile.identityKeys.signing.publicKey
        let older = try world.refresh(laptop, from: desktop)
        #expect(older.refreshing.failureName == "olderKeys" && older.authorizing.failureName != nil)
        _ = try world.paired(desktop, with: "tablet")
        let other = try world.refresh(desktop, from: laptop)
        #expect(other.refreshing.failureName == "listsDiffer")
        #expect(laptop.profile.identityKeys.signing.publicKey == keys)
        let lists = try [laptop, desktop].map { try $0.ask(DevicesRequest()).devices.map(\.name) }
        #expect(lists[0].last == "Alice's phone" && lists[1].last == "Alice's tablet", "nothing was lost")
    }

    /// A refresh brings vaults that were shared after the pairing.
    @Test func aRefreshBringsNewVaults() throws {
        let laptop = try world.sharer()
        let desktop = try world.paired(laptop, with: "desktop")
        _ = try laptop.ask(VaultRequest.create(name: "Plans"))
        _ = try laptop.ask(RemoteRequest.add(vault: "Plans", url: place.url))
        try laptop.write("x", to: "plan", in: "Plans")
        _ = try laptop.sync("Plans")
        let outcome = try world.refresh(desktop, from: laptop)
        #expect(try outcome.refreshing.get().vaults == ["Plans"])
        _ = try desktop.sync("Plans")
        #expect(try desktop.has("plan", in: "Plans"))
    }

    /// Where the person may not change the key, an owner's device does.
    @Test func aVaultOfOthersOwesTheRotation() throws {
        let (alice, bob) = try place.pair()
        _ = try world.paired(bob, with: "phone")
        let report = try bob.ask(RevokeRequest(device: "Alice's phone"))
        #expect(report.vaults.map(\.keys) == ["owed"])
        _ = try alice.sync("Personal")
        _ = try bob.sync("Ours")
        #expect(bob.profile.vaults.last?.keys.count == 2 && alice.profile.vaults.first?.keys.count == 2)
        try bob.write("x", to: "new", in: "Ours")
        _ = try bob.sync("Ours")
        _ = try alice.sync("Personal")
        #expect(try alice.has("new", in: "Personal"))
    }

    /// A remote that does not answer does not keep a lost device trusted; the keys follow later.
    @Test func aRemoteThatIsAwayIsCaughtUpWith() throws {
        let laptop = try world.sharer()
        _ = try world.paired(laptop, with: "phone")
        let (folder, away) = (place.folder.path, "\(place.folder.path)-away")
        try FileManager.default.moveItem(atPath: folder, toPath: away)
        let report = try laptop.ask(RevokeRequest(device: "Alice's phone"))
        #expect(report.vaults.map(\.keys) == ["waiting"] && report.vaults.first?.failure != nil)
        #expect(laptop.profile.devices?.state.revoked.count == 1)
        try FileManager.default.moveItem(atPath: away, toPath: folder)
        _ = try laptop.sync("Personal")
        #expect(laptop.shared.all.map { $0.renewal() } == [.rotated])
    }

    /// A remote that takes connections and never answers costs a revocation no more than its time.
    @Test func aSilentRemoteIsGivenUp() throws {
        let silence = try SilentServer()
        let laptop = try OpenProfile(try sharer(at: "webdav://127.0.0.1:\(silence.port)/vaults"))
        let one = try #require(laptop.shared.all.first)
        #expect(try !one.sync(atMost: 100_000_000) { _ in })
        laptop.shared.sync(atMost: 100_000_000) { _ in }
    }

    /// A profile whose remote is at another place.
    private func sharer(at url: String) throws -> TestProfile {
        let laptop = try world.sharer()
        try laptop.profile.change { state throws(ClientError) in state.body.shares[0].url = url }
        return laptop.test
    }

    @Test func theOnlyDeviceStays() throws {
        let laptop = try OpenProfile()
        #expect(laptop.error(RevokeRequest(device: "laptop"))?.caseName == "lastDevice")
        #expect(laptop.error(RevokeRequest(device: "phone"))?.caseName == "noSuchDevice")
        let keys = laptop.profile.identityKeys.signing.publicKey
        _ = try world.paired(laptop, with: "phone")
        #expect(laptop.error(RevokeRequest(device: "laptop"))?.caseName == "thisDevice")
        #expect(laptop.error(RevokeRequest(device: "tablet"))?.caseName == "noSuchDevice")
        #expect(laptop.profile.identityKeys.signing.publicKey == keys)
        _ = try laptop.ask(RevokeRequest(device: "Alice's phone"))
        #expect(laptop.error(RevokeRequest(device: "laptop"))?.caseName == "lastDevice")
        #expect(laptop.error(RevokeRequest(device: "Alice's phone"))?.caseName == "noSuchDevice")
    }

    /// Both devices make the same transient keys, so that each opens what was wrapped for the other's newest one.
    @Test func transientKeysAreShared() throws {
        let (alice, bob) = try place.pair()
        let phone = try world.paired(bob, with: "phone")
        _ = try phone.sync("Ours")
        for _ in 0..<3 { _ = try bob.ask(IdentityRequest.roll) }
        _ = try bob.sync("Ours")
        // Alice wraps a new epoch for the key that only Bob's first device has made so far.
        let carol = try OpenProfile()
        _ = try carol.ask(JoinRequest(invite: try alice.invite(), name: "Theirs", waits: false))
        _ = try alice.sync("Personal")
        _ = try carol.sync()
        let identity = try carol.ask(IdentityRequest.show).identity
        _ = try alice.ask(MemberRequest.remove(vault: "Personal", member: identity))
        try alice.write("x", to: "new", in: "Personal")
        _ = try alice.sync("Personal")
        for device in [bob, phone] {
            _ = try device.sync("Ours")
            #expect(device.profile.vaults.last?.keys.count == 2)
            #expect(try device.has("new", in: "Ours"))
        }
    }

    /// A device that takes over a key keeps those that it jumps over: something may be wrapped for them.
    @Test func jumpedKeysAreKept() throws {
        let (alice, bob) = try place.pair()
        let phone = try world.paired(bob, with: "phone")
        _ = try phone.sync("Ours")
        let carol = try OpenProfile()
        _ = try carol.ask(JoinRequest(invite: try alice.invite(), name: "Theirs", waits: false))
        _ = try alice.sync("Personal")
        _ = try carol.sync()
        _ = try bob.ask(IdentityRequest.roll)
        let middle = try bob.profile.publicIdentity().transient.key.record.id
        _ = try bob.sync("Ours")
        // Alice wraps a new epoch for the first key; then Bob makes another two.
        let identity = try carol.ask(IdentityRequest.show).identity
        _ = try alice.ask(MemberRequest.remove(vault: "Personal", member: identity))
        try alice.write("x", to: "new", in: "Personal")
        _ = try alice.sync("Personal")
        for _ in 0..<2 {
            _ = try bob.ask(IdentityRequest.roll)
            try phone.profile.follow(try bob.profile.publicIdentity().transient.key)
        }
        let kept = try phone.profile.publicIdentity()
        #expect(kept.transients.contains { $0.key.record.id == middle })
        #expect(kept.transient.key == (try bob.profile.publicIdentity().transient.key))
        _ = try phone.sync("Ours")
        #expect(phone.profile.vaults.last?.keys.count == 2)
        #expect(try phone.has("new", in: "Ours"))
    }

    /// A device takes over the newest transient key that another one has published, and makes the next after it.
    @Test func devicesDoNotFallBehind() throws {
        let laptop = try world.sharer()
        let desktop = try world.paired(laptop, with: "desktop")
        for _ in 0..<5 { _ = try laptop.ask(IdentityRequest.roll) }
        _ = try laptop.sync("Personal")
        let newest = try laptop.profile.publicIdentity().transient.key
        #expect(try desktop.profile.publicIdentity().transient.key != newest)
        _ = try desktop.sync("Personal")
        #expect(try desktop.profile.publicIdentity().transient.key == newest)
        for device in [laptop, desktop] { _ = try device.ask(IdentityRequest.roll) }
        let next = try [laptop, desktop].map { try $0.profile.publicIdentity().transient.key.record.id }
        #expect(next[0] == next[1] && next[0] != newest.record.id)
        // A key that does not come from the seed is not taken.
        let stranger = try OpenProfile()
        let other = try stranger.profile.publicIdentity().transient.key
        try desktop.profile.follow(other)
        #expect(try desktop.profile.publicIdentity().transient.key.record.id == next[1])
    }

    /// A profile with several devices and former keys opens again as it was stored.
    @Test func theProfileKeepsItsDevices() throws {
        let laptop = try OpenProfile()
        _ = try world.paired(laptop, with: "phone")
        let seed = try #require(try laptop.profile.publicIdentity().seed)
        _ = try laptop.ask(RevokeRequest(device: "Alice's phone"))
        let body = laptop.profile.state.withLock { $0.body }
        let bytes = body.encoded()
        let again = try ProfileBody(bytes.span.bytes)
        #expect(again.devices?.links.map(\.bytes) == body.devices?.links.map(\.bytes))
        #expect(again.former.count == 1 && again.publicIdentity?.seed?.id == body.publicIdentity?.seed?.id)
        #expect(again.encoded() == bytes)
        // The phone may have made another key before.
        let next = seed.following().id
        #expect(try again.former[0].withKeys(for: next) { _, _ throws(TrustError) in true } == true)
        #expect(again.publicIdentity?.chain.links.count == 2)
    }
}
