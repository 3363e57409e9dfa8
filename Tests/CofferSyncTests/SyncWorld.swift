import CofferCrypto
import CofferFacts
import CofferFormat
import CofferRemote
import CofferTestSupport
import CofferTrust
import RemoteConformance
import SyncTestSupport

@testable import CofferSync

/// A device of a person, with everything that survives a crash.
final class Device {
    let person: Person
    let label: String
    let replica: MemoryReplica
    let keys: PersonKeys
    var setup: SyncSetup
    private(set) var engine: SyncEngine
    private(set) var remote: any RemoteBackend
    private var random: SplitMix64

    init(_ person: Person, _ label: String, number: UInt64, vault: VaultID, remote: any RemoteBackend) throws
    {
        self.person = person
        self.label = label
        self.remote = remote
        replica = MemoryReplica(changeCountMax: 5)
        keys = PersonKeys(person)
        setup = SyncSetup(
            vault: vault, root: rootID, log: LogID(low: number &* 0x9E37_79B9_7F4A_7C15, high: number),
            introduction: try LogIntroduction(name: person.name, label: label), keys: keys,
            milliseconds: { nowMilliseconds })
        engine = SyncEngine(setup, remote: remote, replica: replica)
        random = SplitMix64(seed: number &* 31)
    }

    var log: LogID { setup.log }

    /// Ends the process, and starts another one.
    func restart(remote: (any RemoteBackend)? = nil) {
        if let remote { self.remote = remote }
        engine = SyncEngine(setup, remote: self.remote, replica: replica)
    }

    func id() -> (UInt64, UInt64) { (random.next(), random.next()) }

    /// Makes or changes a file in the root, with the text as its content.
    func writes(_ name: String, _ text: String) async throws {
        let content = Fact.Content(bytes: Array(text.utf8), size: UInt64(text.utf8.count))
        if let item = await replica.item(name) { return await replica.perform(.setContent(item, content)) }
        let item = ItemID(low: random.next(), high: random.next())
        let entry = EntryID(low: random.next(), high: random.next())
        let place = Place(parent: rootID, name: try EntryName(name.utf8).orThrow())
        await replica.perform(.create(item, .file, mode: 0o644, modified: 1, entry, at: place))
        await replica.perform(.setContent(item, content))
    }

    /// Removes a file from the root.
    func removes(_ name: String) async {
        if let entry = await replica.entry(name) { await replica.perform(.remove(entry)) }
    }

    func sync() async throws { try await engine.round() }

    func files() async -> [String: String] { await replica.files() }
    func stateHash() async -> StateHash { await replica.shownState() }
    func findings() async -> [SyncFinding] { await engine.status.findings }

    /// What this device has applied of its own log.
    var ownSummary: LogSummary { get async throws { try await engine.logs.ownSummary.orThrow() } }
    /// The logs that this device reads.
    func logs() async -> [LogID] { await engine.status.devices.map(\.author.log) }
    /// The number of a person's logs that this device reads.
    func logCount(of person: Person) async -> Int {
        await engine.status.devices.count { $0.identity == person.id }
    }
}

/// A vault at a remote in memory, with people that share it.
final class SyncWorld {
    let vault = VaultID(low: 0x1111, high: 0x2222)
    let remote = MemoryRemote()
    let layout: RemoteLayout
    private(set) var chain: MemberChain
    private(set) var keyring: Keyring
    private(set) var people: [Person] = []
    private var deviceCount: UInt64 = 0

    /// The owner's empty vault.
    init(_ owner: String = "Olga") async throws {
        layout = RemoteLayout(vault)
        let person = try Person(owner, 1)
        let key = EpochKey(vault: vault, epoch: .first, key: .random())
        chain = MemberChain(id: ChainID(vault))
        keyring = Keyring(first: key)
        people = [person]
        try await remote.put(layout.format, .memory(RemoteFormat(vault: vault).bytes), ifAbsent: true)
        try await publish(person)
        try await take(
            chain.creating(
                key, by: person.recipient, signing: person.signing, at: now, knowing: known))
    }

    var owner: Person { people[0] }

    /// The hash by which other commits name a commit.
    static func commitHash(of bytes: [UInt8]) throws -> CommitHash {
        CommitHash(try SignedRecord(bytes, as: .commit).hash(as: .commit))
    }

    /// The name of a request to join.
    static func request(_ number: UInt64, in layout: RemoteLayout) -> RemoteName {
        layout.request(RequestID(low: number, high: 0))
    }
    var known: KnownIdentities { KnownIdentities(people.map(\.chain)) }

    private func publish(_ person: Person) async throws {
        for link in person.chain.links {
            try await remote.put(
                layout.identityLink(person.user, link.sequence), .memory(link.bytes), ifAbsent: true)
        }
    }

    private func take(_ keyed: KeyedLink) async throws {
        let name = layout.wraps(epoch: UInt64(keyed.key.epoch.number), hash: keyed.wraps.hash.bytes)
        try await remote.put(name, .memory(keyed.wraps.record.bytes), ifAbsent: true)
        try await take(keyed.link)
        keyring = try Keyring(opening: keyed.key, of: chain, known: keyed.key.epoch == .first ? nil : keyring)
    }

    func take(_ link: [UInt8]) async throws {
        try await remote.put(layout.member(chain.nextSequence), .memory(link), ifAbsent: true)
        try chain.append(link, knowing: known)
    }

    /// Adds a member.
    func adds(_ name: String, _ role: Role) async throws -> Person {
        let person = try Person(name, UInt64(people.count) + 1)
        people.append(person)
        try await publish(person)
        try await take(
            chain.adding(
                person.recipient, role: role, invite: nil, keyring: keyring, signing: owner.signing, at: now,
                knowing: known))
        return person
    }

    /// Removes a member; its commits count up to the bounds.
    func removes(_ person: Person, _ bounds: [LogBound] = []) async throws {
        let rest = try people.filter { chain.state.members[$0.id] != nil && $0 !== person }.map {
            try $0.recipient
        }
        try await take(
            chain.removing(
                person.id, bounds: try LogBounds(bounds), recipients: rest, keyring: keyring,
                signing: owner.signing, at: now, knowing: known))
    }

    func announcesRestore(_ bounds: [LogBound]) async throws {
        try await take(
            chain.link(
                .restoreFromBackup(bounds: try LogBounds(bounds)), at: now, by: owner.signing, knowing: known)
        )
    }

    /// A new, empty device of a person.
    func device(_ person: Person, _ label: String, remote: (any RemoteBackend)? = nil) throws -> Device {
        deviceCount += 1
        return try Device(
            person, label, number: deviceCount, vault: vault, remote: remote ?? self.remote)
    }

    /// A device's last commit at the remote, as a removal names it.
    func bound(_ device: Device) async throws -> LogBound {
        let summary = try await device.ownSummary
        return LogBound(log: device.log, sequence: summary.head.sequence, hash: summary.head.hash)
    }

    func commitCount(_ device: Device) -> Int {
        let prefix = layout.log(device.log)
        return remote.objects.keys.count { prefix.contains($0) }
    }

    /// A commit by a modified program that follows no rules.
    func forge(
        _ person: Person, at dot: Dot, previous: CommitHash = .zero, clock: UInt64 = nowMilliseconds << 16,
        heads: [LogBound] = [], facts: [Fact] = [], introduction: LogIntroduction? = nil, epoch: Epoch? = nil,
        members: LinkHead? = nil, writes: Bool? = nil, notices: [CommitNotice] = []
    ) throws -> [UInt8] {
        let body = CommitBody(
            previous: previous, clock: clock, stateHash: .zero, heads: try LogBounds(heads),
            introduction: introduction, notices: notices, facts: facts)
        let key = try keyring[epoch ?? keyring.current.epoch].orThrow()
        return SignedRecord.sealing(
            body.paddedBytes, as: .commit, at: dot, under: key,
            members: try members ?? chain.head.orThrow(), writes: writes ?? body.writes, by: person.author)
    }

    /// Puts a forged commit.
    func put(_ bytes: [UInt8], at dot: Dot) async throws {
        try await remote.put(layout.commit(dot.log, dot.sequence), .memory(bytes), ifAbsent: false)
    }
}

/// The facts that make a file in the root.
func fileFacts(_ number: UInt64, _ name: String) throws -> [Fact] {
    let item = ItemID(low: number, high: 0xF11E)
    let place = Place(parent: rootID, name: try EntryName(name.utf8).orThrow())
    return [
        Fact(.kind(item, .file)), Fact(.mode(item, 0o644)), Fact(.modified(item, 1)),
        Fact(.place(EntryID(low: number, high: 0xE), .init(item: item, place: place, previous: nil))),
    ]
}
