import CofferCrypto
import CofferFormat
import CofferRemote
import CofferSync
import CofferSystem
import CofferTestSupport
import CofferTrust
import RemoteConformance
import SyncTestSupport

/// A vault at a remote that three people share: an owner and two writers.
final class ReplicaWorld: Sendable {
    let remote: any RemoteBackend
    let first: TestVault
    let people: [Person]
    let layout: RemoteLayout
    private let clock = Condition<UInt64>(1_795_000_000_000)

    private init(_ remote: any RemoteBackend, _ first: TestVault, _ people: [Person]) {
        self.remote = remote
        self.first = first
        self.people = people
        layout = RemoteLayout(first.id)
    }

    /// Puts the empty vault to the remote.
    static func make(_ remote: any RemoteBackend = MemoryRemote()) async throws -> ReplicaWorld {
        let names = ["owner", "member", "guest"]
        let people = try names.enumerated().map { try Person($1, UInt64($0) + 1) }
        let world = ReplicaWorld(remote, try TestVault.create(), people)
        try await world.publish()
        return world
    }

    /// The same vault at another remote.
    func at(_ remote: any RemoteBackend) -> ReplicaWorld { ReplicaWorld(remote, first, people) }

    /// A time that is one second later at each call.
    func milliseconds() -> UInt64 {
        clock.withLock { clock in
            clock += 1000
            return clock
        }
    }

    /// Lets time pass.
    func passes(milliseconds: UInt64) { clock.withLock { $0 += milliseconds } }

    private func publish() async throws {
        try await remote.put(layout.format, .memory(RemoteFormat(vault: first.id).bytes), ifAbsent: true)
        for person in people {
            for link in person.chain.links {
                try await remote.put(
                    layout.identityLink(person.user, link.sequence), .memory(link.bytes), ifAbsent: true)
            }
        }
        let known = KnownIdentities(people.map(\.chain))
        var chain = MemberChain(id: ChainID(first.id))
        let key = EpochKey(vault: first.id, epoch: .first, key: .random())
        let owner = people[0]
        func take(_ keyed: KeyedLink) async throws {
            let name = layout.wraps(epoch: UInt64(keyed.key.epoch.number), hash: keyed.wraps.hash.bytes)
            try await remote.put(name, .memory(keyed.wraps.record.bytes), ifAbsent: true)
            try await remote.put(layout.member(chain.nextSequence), .memory(keyed.link), ifAbsent: true)
            try chain.append(keyed.link, knowing: known)
        }
        try await take(
            chain.creating(key, by: try owner.recipient, signing: owner.signing, at: now, knowing: known))
        let keyring = Keyring(first: key)
        for person in people.dropFirst() {
            try await take(
                chain.adding(
                    try person.recipient, role: .writer, invite: nil, keyring: keyring,
                    signing: owner.signing,
                    at: now, knowing: known))
        }
    }
}
