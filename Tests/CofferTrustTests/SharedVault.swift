import CofferCrypto
import CofferFormat
import CofferTestSupport

import CofferTrust

/// A vault with its member chain, as a device with all keys sees it: for tests that read like a story.
final class SharedVault {
    let id = VaultID(low: 0x1111, high: 0x2222)
    private(set) var chain: MemberChain
    private(set) var keyring: Keyring
    /// The wrap sets of each epoch.
    private(set) var sets: [Epoch: [WrapSet]] = [:]
    var people: [Person]

    init(owner: Person) throws {
        chain = MemberChain(id: ChainID(id))
        let key = EpochKey(vault: id, epoch: .first, key: .random())
        keyring = Keyring(first: key)
        people = [owner]
        try take(
            try chain.creating(
                key, by: owner.recipient, signing: owner.pair.key, at: now, knowing: known))
    }

    var known: KnownIdentities { people.known }
    var state: MemberLedger { chain.state }
    var members: [Person] { people.filter { state.members[$0.id] != nil } }

    private func recipients(without person: Person? = nil) throws -> [Recipient] {
        try members.filter { $0 !== person && state.members[$0.id]?.keys != nil }.map { try $0.recipient }
    }

    private func take(_ keyed: KeyedLink) throws {
        try chain.append(keyed.link, knowing: known)
        sets[keyed.key.epoch, default: []].append(keyed.wraps)
        keyring = try Keyring(opening: keyed.key, of: chain, known: keyed.key.epoch == .first ? nil : keyring)
    }

    /// The sets of the current epoch, as stored.
    var stored: [[UInt8]] { sets[keyring.current.epoch, default: []].map(\.record.bytes) }

    func add(_ person: Person, _ role: Role, by signer: Person, invite: InviteID? = nil) throws {
        if !people.contains(where: { $0 === person }) { people.append(person) }
        try take(
            try chain.adding(
                person.recipient, role: role, invite: invite, keyring: keyring, signing: signer.pair.key,
                at: now, knowing: known))
    }

    /// Makes a removal without applying it.
    func removal(_ person: Person, by signer: Person, _ bounds: [LogBound] = []) throws -> KeyedLink {
        try chain.removing(
            person.id, bounds: try LogBounds(bounds), recipients: try recipients(without: person),
            keyring: keyring, signing: signer.pair.key, at: now, knowing: known)
    }

    func remove(_ person: Person, by signer: Person, _ bounds: [LogBound] = []) throws {
        try take(try removal(person, by: signer, bounds))
    }

    func rotate(by signer: Person) throws {
        try take(
            try chain.rotating(
                recipients: try recipients(), keyring: keyring, signing: signer.pair.key, at: now,
                knowing: known))
    }

    func link(_ operation: MemberOperation, by signer: Person) throws -> [UInt8] {
        try chain.link(operation, at: now, by: signer.pair.key, knowing: known)
    }

    func take(_ operation: MemberOperation, by signer: Person) throws {
        try chain.append(try link(operation, by: signer), knowing: known)
    }

    func take(link: [UInt8]) throws {
        try chain.append(link, knowing: known)
    }

    func change(_ person: Person, to role: Role, by signer: Person, _ bounds: [LogBound] = []) throws {
        try take(.changeRole(person.id, role: role, bounds: try LogBounds(bounds)), by: signer)
    }

    func record(_ person: Person, by signer: Person, _ bounds: [LogBound] = []) throws {
        guard let head = person.chain.head else { throw TrustError.wrongPlace }
        try take(.memberKeysRolled(person.id, head: head, bounds: try LogBounds(bounds)), by: signer)
    }

    func leave(_ person: Person, successor: Person? = nil, _ bounds: [LogBound] = []) throws {
        try take(.leave(successor: successor?.id, bounds: try LogBounds(bounds)), by: person)
    }

    /// What a member can open with only its own keys and the stored objects.
    func opened(by person: Person) throws -> Keyring {
        let set = try sets[keyring.current.epoch, default: []].first {
            $0.hash == chain.wraps(for: person.id)
        }
        .orThrow()
        let wrap = try set[person.id].orThrow()
        let name = try KeyWrap.transientKey(of: wrap)
        let transient = try person.transients.first { $0.key.record.id == name }.orThrow()
        let agreement = person.agreement[person.agreement.count - 1]
        return try chain.keyring(
            opening: set, for: person.id, agreement: agreement.key, transient: transient.pair.key)
    }
}

struct Missing: Error {}

extension Optional {
    func orThrow() throws -> Wrapped {
        guard let self else { throw Missing() }
        return self
    }
}

/// A link with arbitrary fields, properly hashed and signed: what a hostile member can make.
func forged(
    _ operation: some ChainOperation, chain: ChainID, after head: LinkHead?, by signer: borrowing SigningKey,
    time: Int64 = now
) throws -> [UInt8] {
    let hashed = try LinkRecord.hashed(
        operation, chain: chain, sequence: head.map { $0.sequence + 1 } ?? 0, previous: head?.hash ?? .zero,
        time: time, signer: SigningPublicKey(signer.publicKey))
    let hash = Blake2b.hash(hashed, for: .link)
    return hashed + hash + signer.sign(hash, for: .link)
}

/// The bound of one log.
func bound(_ log: UInt64, _ sequence: UInt64, _ byte: UInt8 = 7) -> LogBound {
    LogBound(
        log: LogID(low: log, high: 0), sequence: sequence,
        hash: CommitHash([UInt8](repeating: byte, count: 32)))
}
