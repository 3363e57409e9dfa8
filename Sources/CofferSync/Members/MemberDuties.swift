internal import CofferCrypto
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// A link that may not be at the remote yet, with the set of wraps that it names.
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

    /// The rows that keep it across a crash.
    var rows: [KeptChange] {
        [
            KeptChange(KeptRow.Key(.pendingLink, number: 0), link),
            KeptChange(KeptRow.Key(.pendingLink, number: 1), wraps),
        ]
    }

    /// The rows that delete it.
    static let noRows = [
        KeptChange(KeptRow.Key(.pendingLink, number: 0), nil),
        KeptChange(KeptRow.Key(.pendingLink, number: 1), nil),
    ]
}

/// What this device last saw of a member: its newest transient key, and the name it gives itself.
///
///     bytes  field
///       204  transient key (`TransientKeyRecord`)
///         …  name, UTF-8; empty if unknown
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

/// An object among the sets of wraps; both fields are nil if it is not a set.
struct SeenWraps: Sendable {
    /// A set that a link names, as stored.
    let set: [UInt8]?
    /// The hash of a set that no link names.
    ///
    /// Anybody can put such sets, so they are not kept.
    let stray: WrapSetHash?
}

/// What an engine remembers of its work for the members.
struct MemberDuties: Sendable {
    /// The pause between inspections of the members if nothing changes, in milliseconds: 5 minutes.
    static let inspectionPause: UInt64 = 300_000

    var pending: PendingLink?
    var cards: [UserID: KeptCard] = [:]
    /// This user's links and transient key, as last known to be at the remote.
    var published: [UInt8]?
    /// The chain's head at the last inspection, and the time of that.
    var inspected: LinkHead?
    var inspectedAt: UInt64 = 0
    /// The sets of wraps that the remote has for one epoch, by object name.
    var wraps: [String: SeenWraps] = [:]
    var wrapsEpoch: Epoch?
    /// The sets of wraps that links of the current epoch name, as far as this device has seen them.
    var keptWraps: [WrapSetHash: WrapSet] = [:]
    /// Sets that no link named at the last inspection.
    var strays: Set<WrapSetHash> = []
    /// Requests that were refused or are for another user, by name and size.
    var refused: [String: Int] = [:]
    /// The last request that was fetched.
    var requestTurn: RemoteName?
    /// The last object of each kind that was compared with the remote.
    var turns: [ComparedKind: RemoteName] = [:]
    var forks: [Fork] = []
    /// When this process first noticed that a user had left, in milliseconds.
    var leftSince: [IdentityID: UInt64] = [:]

    /// Restores a saved row.
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

    /// All rows that keep this state across a crash.
    var rows: [KeptChange] {
        (pending?.rows ?? [])
            + cards.map { KeptChange(KeptRow.Key(.memberCard, id: $0.key.bytes), $0.value.bytes) }
            + keptWraps.values.map { KeptChange(Self.key(of: $0.hash), $0.record.bytes) }
    }

    /// The key under which a set of wraps is kept.
    static func key(of wraps: WrapSetHash) -> KeptRow.Key {
        KeptRow.Key(.wraps, id: Array(wraps.bytes.prefix(16)))
    }
}
