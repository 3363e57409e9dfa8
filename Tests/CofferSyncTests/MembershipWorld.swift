import CofferCrypto
import CofferFormat
import CofferRemote
import CofferTestSupport
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Synchronization

import CofferSync

let day: Int64 = 86_400_000_000_000

/// Invites as a profile keeps them; they survive a crash of the engine.
final class MemoryInvites: InviteBook {
    private let kept = Mutex(OpenInvites())

    func load() async throws(SyncError) -> OpenInvites { kept.withLock { $0 } }
    func save(_ invites: OpenInvites) async throws(SyncError) { kept.withLock { $0 = invites } }
}

/// A vault whose people share it, invite others, and leave; no test code makes links for them.
final class MembershipWorld {
    let vault = VaultID(low: 0x3333, high: 0x4444)
    let remote = MemoryRemote()
    let layout: RemoteLayout
    let key: EpochKey
    /// Adjusts the setup of all devices that are made from now on.
    var adjust: (inout SyncSetup) -> Void = { _ in }
    private var deviceCount: UInt64 = 0
    private var personCount: UInt64 = 0

    init() {
        layout = RemoteLayout(vault)
        key = EpochKey(vault: vault, epoch: .first, key: .random())
    }

    func person(_ name: String) throws -> Person {
        personCount += 1
        return try Person(name, 100 + personCount)
    }

    /// A device of a person, with its card and a place for invites.
    func device(_ person: Person, _ label: String = "desk", remote: (any RemoteBackend)? = nil) throws
        -> Device
    {
        deviceCount += 1
        let device = try Device(
            person, label, number: 1000 + deviceCount, vault: vault, remote: remote ?? self.remote)
        let card = try person.card
        device.setup.card = { card }
        device.setup.invites = MemoryInvites()
        adjust(&device.setup)
        device.restart()
        return device
    }

    /// The owner's device, with the vault shared.
    func founded(_ name: String = "Olga") async throws -> Device {
        let olga = try device(try person(name), "laptop")
        try await olga.engine.share(key)
        try await olga.sync()
        return olga
    }

    func invite(_ device: Device, _ role: Role, days: Int64 = 7) async throws -> Invite {
        try await device.engine.invite(role: role, expires: now + days * day, url: "file:///srv/team")
    }

    func joining(_ invite: Invite, _ person: Person, remote: (any RemoteBackend)? = nil) throws -> Joining {
        Joining(
            try Invite(text: invite.text), card: try person.card, keys: PersonKeys(person),
            remote: remote ?? self.remote, milliseconds: { nowMilliseconds })
    }

    /// Invites a user, who joins and is admitted by the inviter's next round; returns the new device, synced.
    func joins(_ name: String, _ role: Role, by device: Device) async throws -> Device {
        let person = try person(name)
        try await joining(try await invite(device, role), person).join()
        try await device.sync()
        let new = try self.device(person)
        try await new.sync()
        return new
    }

    /// The number of the first link that the remote lacks.
    var linkCount: Int { remote.objects.keys.count { layout.members.contains($0) } }
    var requestCount: Int { remote.objects.keys.count { layout.requests.contains($0) } }
    func wrapCount(_ epoch: UInt64) -> Int {
        remote.objects.keys.count { layout.wraps(epoch: epoch).contains($0) }
    }
}

extension Person {
    var card: IdentityCard {
        get throws { try IdentityCard.signed(name: name, identity: chain, transient: transient, by: signing) }
    }
}

extension Device {
    var members: [IdentityID: Role] {
        get async { await engine.chain.state.members.mapValues(\.role) }
    }

    var epoch: UInt32? { get async { await engine.chain.state.epoch?.number } }

    func memberFindings() async -> [MembershipFinding] {
        await findings().compactMap { if case .membership(let finding) = $0 { finding } else { nil } }
    }

    func requestFindings() async -> [TrustError] {
        await memberFindings().compactMap { if case .request(_, _, let error) = $0 { error } else { nil } }
    }
}
