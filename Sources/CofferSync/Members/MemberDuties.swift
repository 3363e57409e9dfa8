internal import CofferCrypto
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// A link that was made and may not be at the remote yet, with the set of wraps that it names.
struct PendingLink: Equatable, Sendable {
    let link: [UInt8]
    let wraps: [UInt8]?

    init(link: [UInt8], wraps: [UInt8]? = nil) {
        self.link = link
        self.wraps = wraps
    }

    init(_ keyed: KeyedLink) {
        self.init(link: keyed.link, wraps: keyed.wraps.record.bytes)
    }

    /// What keeps it over a crash.
    var rows: [KeptChange] {
        [
            KeptChange(KeptRow.Key(.pendingLink, number: 0), link),
            KeptChange(KeptRow.Key(.pendingLink, number: 1), wraps),
        ]
    }

    /// What forgets it.
    static let noRows = [
        KeptChange(KeptRow.Key(.pendingLink, number: 0), nil),
        KeptChange(KeptRow.Key(.pendingLink, number: 1), nil),
    ]
}

/// What was last seen of a member: its newest transient key, and what it calls itself.
///
///     bytes  field
///       204  transient key (`TransientKeyRecord`)
///         …  name, UTF-8; empty where it is not known
struct KeptCard: Equatable, Sendable {
    let transient: [UInt8]
    let name: String?

    init(transient: [UInt8], name: String?) {
        self.transient = transient
        self.name = name
    }

    init?(_ bytes: [UInt8]) {
        guard bytes.count >= TransientKeyRecord.byteCount else { return nil }
        transient = Array(bytes.prefix(TransientKeyRecord.byteCount))
        let text = String(decoding: bytes.dropFirst(TransientKeyRecord.byteCount), as: UTF8.self)
        name = text.isEmpty ? nil : text
    }

    var bytes: [UInt8] { transient + Array((name ?? "").utf8) }
}

/// An object among the sets of wraps; nothing where it is no set.
struct SeenWraps: Sendable {
    /// A set that a link names, as stored.
    let set: [UInt8]?
    /// The hash of a set that no link names: anybody can put such, so they are not kept.
    let stray: WrapSetHash?
}

/// What an engine remembers of its work for the members.
struct MemberDuties: Sendable {
    /// How often members are inspected where nothing changes, in milliseconds: 5 minutes.
    static let inspectionPause: UInt64 = 300_000

    var pending: PendingLink?
    var cards: [UserID: KeptCard] = [:]
    /// The links and the transient key of this user that are known to be at the remote.
    var published: [UInt8]?
    /// The chain's head at the last inspection, and when that was.
    var inspected: LinkHead?
    var inspectedAt: UInt64 = 0
    /// What the remote has of sets of wraps, by the names of the objects, of one epoch.
    var wraps: [String: SeenWraps] = [:]
    var wrapsEpoch: Epoch?
    /// The sets of wraps that links of the present epoch name, as far as this device has had them.
    var keptWraps: [WrapSetHash: WrapSet] = [:]
    /// Sets that no link named when it was last looked.
    var strays: Set<WrapSetHash> = []
    /// Requests that were refused or are not for this user, by name and size.
    var refused: [String: Int] = [:]
    /// The last request that was fetched.
    var requestTurn: RemoteName?
    /// The last object of each kind that was compared with the remote.
    var turns: [ComparedKind: RemoteName] = [:]
    var forks: [Fork] = []
    /// When this process first saw of those who have left that they have, in milliseconds.
    var leftSince: [IdentityID: UInt64] = [:]

    /// Takes what was kept.
    mutating func take(_ row: KeptRow) throws(FormatError) {
        if row.key.kind == .wraps {
            guard let set = try? WrapSet(row.value) else { throw .invalid(field: "wraps") }
            keptWraps[set.hash] = set
        } else if row.key.kind == .memberCard {
            guard let user = UserID(bytes: row.key.id), let card = KeptCard(row.value) else {
                throw .invalid(field: "card")
            }
            cards[user] = card
        } else if row.key.number == 0 {
            pending = PendingLink(link: row.value, wraps: pending?.wraps)
        } else {
            pending = PendingLink(link: pending?.link ?? [], wraps: row.value)
        }
    }

    /// What keeps all of it over a crash.
    var rows: [KeptChange] {
        (pending?.rows ?? [])
            + cards.map { KeptChange(KeptRow.Key(.memberCard, id: $0.key.bytes), $0.value.bytes) }
            + keptWraps.values.map { KeptChange(Self.key(of: $0.hash), $0.record.bytes) }
    }

    /// Where a set of wraps is kept.
    static func key(of wraps: WrapSetHash) -> KeptRow.Key {
        KeptRow.Key(.wraps, id: Array(wraps.bytes.prefix(16)))
    }
}
