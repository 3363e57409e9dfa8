internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// Requests to join a vault: which were refused, and whose turn it is to be answered.
///
/// Anybody can put requests, so a round takes only some of them, each in its turn, and the memory of refusals
/// is bounded.
struct JoinRequests: Sendable {
    /// The most requests that are fetched in one round.
    private static let countMax = 64
    /// The most refused requests that are remembered; once there are more, all are fetched again.
    private static let refusedCountMax = 1 << 14

    /// Requests that were refused or are for another user, by name and size.
    private var refused: [String: Int] = [:]
    /// The last request that was fetched.
    private var turn: RemoteName?
    private var (new, newBefore): ([RemotePage.Entry], [RemotePage.Entry]) = ([], [])

    /// Whether a request was refused, by its last name.
    func isRefused(_ name: String) -> Bool { refused[name] != nil }

    /// Records that a request was refused, or replaced by a refusal of this size.
    mutating func refuse(_ name: RemoteName, byteCount: Int) { refused[name.last] = byteCount }

    /// Makes all requests new again.
    mutating func forgetRefusals() { refused = [:] }

    /// Begins a listing of all requests.
    mutating func beginListing() {
        (new, newBefore) = ([], [])
        if refused.count >= Self.refusedCountMax { refused = [:] }
    }

    /// Adds a page of the listing.
    mutating func add(_ entries: [RemotePage.Entry]) -> ListingStep {
        for entry in entries
        where refused[entry.name.last] != entry.byteCount && entry.byteCount != JoinRefusalRecord.byteCount {
            if let turn, entry.name <= turn {
                if newBefore.count < Self.countMax { newBefore.append(entry) }
            } else if new.count < Self.countMax {
                new.append(entry)
            }
        }
        return new.count < Self.countMax ? .next : .enough
    }

    /// The requests whose turn it is, starting after the last one of the round before, so that requests that
    /// keep coming do not hide others.
    mutating func endListing() -> [RemotePage.Entry] {
        let some = Array((new + newBefore).prefix(Self.countMax))
        turn = some.last?.name
        return some
    }
}

/// The name of a request to join: each identity has one.
enum JoinRequestName {
    /// The first 16 bytes of the identity id.
    static func of(_ identity: IdentityID) -> RequestID {
        guard let id = RequestID(bytes: Array(identity.bytes.prefix(16))) else {
            preconditionFailure("an identity id has 32 bytes")
        }
        return id
    }
}

/// Distinguishes identifiers of requests from others.
enum RequestKind {}
/// The name of a request to join.
typealias RequestID = Identifier<RequestKind>
