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

    /// The set of wraps; nil if the link names none.
    var wrapSet: WrapSet? { wraps.flatMap { try? WrapSet($0) } }

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

/// What an engine remembers of its work for the members.
///
/// A method that returns rows changes the value as if they were saved: call it on a copy, save the rows, and
/// then assign the copy.
struct MemberDuties: Sendable {
    /// The pause between inspections of the members if nothing changes, in milliseconds: 5 minutes.
    static let inspectionPause: UInt64 = 300_000
    /// How long a device waits for the commits named by a member that has left, in milliseconds: an hour.
    private static let leftGrace: UInt64 = 3_600_000
    /// The most sets of wraps kept for members that were added.
    private static let keptWrapsCountMax = 1024

    /// A change of the members that may not be at the remote yet.
    private(set) var pending: PendingLink?
    /// What was last seen of members.
    private(set) var cards: [UserID: KeptCard] = [:]
    /// The sets of wraps that links of the current epoch name, as far as this device has seen them.
    private(set) var keptWraps: [WrapSetHash: WrapSet] = [:]
    /// This user's links and transient key, as last known to be at the remote.
    var published: [UInt8]?
    /// The chain's head at the last inspection, and the time of that.
    private var (inspected, inspectedAt): (LinkHead?, UInt64) = (nil, 0)
    /// The comparison of wraps with members.
    var wraps = WrapInspection()
    /// Requests to join.
    var requests = JoinRequests()
    /// Whose turn it is to be compared with the remote.
    var turns = ComparisonTurns()
    /// Places in the member chain that two links claim.
    private(set) var forks: [Fork] = []
    /// When this process first noticed that a user had left, in milliseconds.
    private var leftSince: [IdentityID: UInt64] = [:]

    // MARK: Inspections

    /// Whether the members changed since the last inspection, or that was long ago.
    func isInspectionDue(_ head: LinkHead?, at now: UInt64) -> Bool {
        let isRecent = now >= inspectedAt && now - inspectedAt < Self.inspectionPause
        return inspected == nil || inspected != head || !isRecent
    }

    /// Records an inspection.
    ///
    /// - Parameter head: The chain's head; nil if the inspection has to continue in the next round.
    mutating func inspected(_ head: LinkHead?, at now: UInt64) {
        (inspected, inspectedAt) = (head, now)
        requests.forgetRefusals()
    }

    /// Whether a device has waited long enough for the commits of a member that has left.
    mutating func hasWaited(for identity: IdentityID, at now: UInt64) -> Bool {
        let since = min(leftSince[identity] ?? now, now)
        leftSince[identity] = since
        return now - since >= Self.leftGrace
    }

    /// Keeps a fork that no rule settles.
    mutating func add(_ fork: Fork) {
        if !forks.contains(fork) { forks.append(fork) }
    }

    /// Forgets a fork that the user has decided.
    mutating func decided(_ fork: Fork) { forks.removeAll { $0 == fork } }

    /// Forgets forks from a link on, because other links are in their places.
    mutating func forgetForks(from sequence: UInt64 = 0) { forks.removeAll { $0.sequence >= sequence } }

    // MARK: Rows

    /// Replaces the change that is pending.
    ///
    /// - Returns: The rows to save.
    mutating func setPending(_ link: PendingLink?) -> [KeptChange] {
        pending = link
        return link?.rows ?? PendingLink.noRows
    }

    /// Keeps what was seen of a member.
    ///
    /// - Returns: The row to save.
    mutating func keep(_ card: KeptCard, of user: UserID) -> KeptChange {
        cards[user] = card
        return KeptChange(KeptRow.Key(.memberCard, id: user.bytes), card.bytes)
    }

    /// Keeps sets of wraps that links of the current epoch name, and forgets those of earlier ones.
    ///
    /// Links can name any set, so a set for added members is kept only if it contains wraps for them alone.
    ///
    /// - Parameter grants: The sets that links of the current epoch name; the first one began it.
    /// - Returns: The rows to save.
    mutating func keep(_ sets: [WrapSet], _ grants: [MemberLedger.Grant]) -> [KeptChange] {
        let named = Dictionary(grants.map { ($0.wraps, $0) }) { first, _ in first }
        let first = grants.first?.wraps
        func isFit(_ set: WrapSet) -> Bool {
            guard let grant = named[set.hash] else { return false }
            return set.hash == first || grant.fits(set)
        }
        let old = keptWraps.values.filter { !isFit($0) }.map(\.hash)
        for hash in old { keptWraps[hash] = nil }
        var rows: [KeptChange] = []
        for set in sets where isFit(set) && keptWraps[set.hash] == nil {
            guard keptWraps.count < Self.keptWrapsCountMax || set.hash == first else { continue }
            keptWraps[set.hash] = set
            rows.append(KeptChange(Self.key(of: set.hash), set.record.bytes))
        }
        return rows + old.map { KeptChange(Self.key(of: $0), nil) }
    }

    /// Forgets everything that is saved, before it is restored.
    mutating func beginRestore() { (pending, cards, keptWraps) = (nil, [:], [:]) }

    /// Restores a saved row.
    mutating func restore(_ row: KeptRow) throws(FormatError) {
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
    private static func key(of wraps: WrapSetHash) -> KeptRow.Key {
        KeptRow.Key(.wraps, id: Array(wraps.bytes.prefix(16)))
    }
}

extension MemberLedger.Grant {
    /// The most bytes of one wrap of any suite, with its share of the set.
    private static let wrapByteCountMax = 4096

    /// Whether a set has wraps only for the members that the link grants keys to, and is not oversized.
    fileprivate func fits(_ set: WrapSet) -> Bool {
        set.record.wraps.allSatisfy { identities.contains($0.identity) }
            && set.record.bytes.count <= Self.wrapByteCountMax * max(1, identities.count)
    }
}

extension WrapSet {
    /// The most bytes of a set: one wrap for each of 4096 members.
    static let byteCountMax = 1 << 20
}

extension RemoteLayout {
    /// The name of a set of wraps.
    func wraps(_ hash: WrapSetHash, of epoch: Epoch) -> RemoteName {
        wraps(epoch: UInt64(epoch.number), hash: hash.bytes)
    }
}
