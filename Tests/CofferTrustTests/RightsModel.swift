import CofferFormat

/// The rules of who may do what, written a second time as plainly as possible, to compare the verifier with.
///
/// People are numbers. Keys and heads are counts of rolls.
struct RightsModel {
    struct Member: Equatable {
        var role: Role
        /// The length of the part of the identity chain that the vault knows, minus one.
        var known: Int
        var isRevoked = false
    }

    enum Act: CustomStringConvertible {
        case add(Int, Role, invite: UInt64?)
        case change(Int, Role)
        case remove(Int, epoch: UInt32)
        case rotate(epoch: UInt32)
        case record(Int)
        case restore
        case keep(seconds: Int64)
        case leave(successor: Int?)

        var description: String {
            switch self {
            case .add(let who, let role, let invite): "add \(who) as \(role) by invite \(invite ?? 0)"
            case .change(let who, let role): "change \(who) to \(role)"
            case .remove(let who, let epoch): "remove \(who), epoch \(epoch)"
            case .rotate(let epoch): "rotate to \(epoch)"
            case .record(let who): "record \(who)"
            case .restore: "restore"
            case .keep(let seconds): "keep \(seconds)"
            case .leave(let successor): "leave to \(successor.map(String.init) ?? "nobody")"
            }
        }
    }

    var members: [Int: Member]
    var epoch: UInt32 = 1
    var invites: Set<UInt64> = []
    var historySeconds: Int64?
    /// The former roles of people who left and whom nobody has bounded yet.
    var left: [Int: Role] = [:]
    /// Everything that the vault ever knew about members.
    var lastKnown: [Int: Int]
    /// The length of each person's identity chain, minus one, and whether its last link revokes.
    var chains: [(length: Int, isRevoked: Bool)]

    init(people: Int) {
        members = [0: Member(role: .owner, known: 0)]
        lastKnown = [0: 0]
        chains = Array(repeating: (0, false), count: people)
    }

    private var ownerCount: Int { members.values.filter { $0.role == .owner && !$0.isRevoked }.count }

    /// The rank of an actor: 3 for owners, 2 for admins, 1 for other members, 0 for strangers.
    private func rank(_ who: Int) -> Int {
        guard let member = members[who], !member.isRevoked else { return 0 }
        switch member.role {
        case .owner: return 3
        case .admin: return ownerCount == 0 ? 3 : 2
        case .writer, .reader: return 1
        }
    }

    private func rankNeeded(for role: Role) -> Int { role == .owner || role == .admin ? 3 : 2 }

    /// Performs the action, or returns that it must be refused.
    ///
    /// - Parameter key: Which of its keys the actor signs with; the first one is 0.
    mutating func perform(_ act: Act, by actor: Int, key: Int) -> Bool {
        if case .record(let who) = act { return record(who, by: actor, key: key) }
        // A key is valid until the vault knows a later one.
        guard rank(actor) > 0, members[actor]?.known == key else { return false }
        let rank = rank(actor)
        switch act {
        case .record: return false
        case .add(let who, let role, let invite):
            guard rank >= rankNeeded(for: role), members[who] == nil, left[who] == nil,
                !chains[who].isRevoked
            else { return false }
            if let invite, !invites.insert(invite).inserted { return false }
            members[who] = Member(role: role, known: chains[who].length)
            lastKnown[who] = chains[who].length
        case .change(let who, let role):
            guard let member = members[who], !member.isRevoked, member.role != role else { return false }
            guard rank >= max(rankNeeded(for: role), rankNeeded(for: member.role)) else { return false }
            if member.role == .owner, ownerCount == 1 { return false }
            members[who]?.role = role
        case .remove(let who, let next):
            guard let role = members[who]?.role ?? left[who], who != actor, next == epoch + 1 else {
                return false
            }
            let needed = role == .owner && members[who]?.isRevoked != true ? 3 : 2
            guard rank >= needed else { return false }
            members[who] = nil
            left[who] = nil
            epoch = next
        case .rotate(let next):
            guard rank >= 2, next == epoch + 1 else { return false }
            epoch = next
        case .restore: return rank >= 2
        case .keep(let seconds):
            guard rank >= 2, seconds != historySeconds else { return false }
            historySeconds = seconds
        case .leave(let successor):
            let isLast = members[actor]?.role == .owner && ownerCount == 1
            guard isLast == (successor != nil) else { return false }
            if let successor {
                guard successor != actor, let heir = members[successor], !heir.isRevoked else { return false }
                members[successor]?.role = .owner
            }
            left[actor] = members[actor]?.role
            members[actor] = nil
        }
        return true
    }

    private mutating func record(_ who: Int, by actor: Int, key: Int) -> Bool {
        let chain = chains[who]
        guard let member = members[who], member.known < chain.length else { return false }
        let isOwn = who == actor && key == chain.length && !chain.isRevoked
        if !isOwn {
            let needed = member.role == .owner && !chain.isRevoked ? 3 : 2
            guard who != actor, rank(actor) >= needed, members[actor]?.known == key else { return false }
        }
        members[who]?.known = chain.length
        members[who]?.isRevoked = chain.isRevoked
        lastKnown[who] = chain.length
        return true
    }
}
