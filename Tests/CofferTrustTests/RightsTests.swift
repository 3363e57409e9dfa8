import CofferCrypto
import CofferFormat
import CofferTestSupport
import Testing

import CofferTrust

/// Random links by random signers, entitled or not: the verifier and `RightsModel` must agree on each.
@Suite struct RightsTests {
    private static let personCount = 6

    /// One history: people, the verifier and the model.
    private struct History {
        var people: [Person]
        var chain: MemberChain
        var model = RightsModel(people: RightsTests.personCount)
        var random: SplitMix64
        var accepted = 0
        var refused = 0

        init(seed: UInt64) throws {
            random = SplitMix64(seed: seed)
            people = try (0..<UInt64(RightsTests.personCount)).map { try Person(100 + $0) }
            chain = MemberChain(id: ChainID(VaultID(low: seed, high: 1)))
            let head = try people[0].chain.head.orThrow()
            try append(
                .createVault(creator: people[0].id, head: head, commitment: .zero, wraps: .zero), by: 0,
                key: 0)
        }

        mutating func append(_ operation: MemberOperation, by actor: Int, key: Int) throws {
            let link = try forged(
                operation, chain: chain.id, after: chain.head, by: people[actor].signing[key].key)
            try chain.append(link, knowing: people.known)
        }

        mutating func someAct() -> RightsModel.Act {
            let who = random.below(RightsTests.personCount)
            let role = random.pick(Role.allCases) ?? .reader
            // Most of the time the epoch is the right one.
            let epoch = max(2, model.epoch + [0, 1, 1, 1, 1, 2][random.below(6)])
            switch random.below(13) {
            case 0...3: return .add(who, role, invite: random.oneIn(2) ? UInt64(1 + random.below(8)) : nil)
            case 4...5: return .change(who, role)
            case 6: return .remove(who, epoch: epoch)
            case 7: return .rotate(epoch: epoch)
            case 8...9: return .record(who)
            case 10: return .restore
            case 11: return .keep(seconds: Int64(random.below(3)) - 1)
            default: return .leave(successor: random.oneIn(2) ? who : nil)
            }
        }

        func operation(_ act: RightsModel.Act) throws -> MemberOperation {
            func start(_ epoch: UInt32) -> MemberOperation.EpochStart {
                MemberOperation.EpochStart(
                    epoch: Epoch(epoch), commitment: .zero,
                    sealedPrevious: [UInt8](repeating: 0, count: 72), wraps: .zero)
            }
            switch act {
            case .add(let who, let role, let invite):
                return .addMember(
                    people[who].id, head: try people[who].chain.head.orThrow(), role: role,
                    invite: invite.map { InviteID(low: $0, high: 0) }, wraps: .zero)
            case .change(let who, let role): return .changeRole(people[who].id, role: role, bounds: .none)
            case .remove(let who, let epoch):
                return .removeMember(people[who].id, start: start(epoch), bounds: .none)
            case .rotate(let epoch): return .rotateKey(start: start(epoch))
            case .record(let who):
                return .memberKeysRolled(
                    people[who].id, head: try people[who].chain.head.orThrow(), bounds: .none)
            case .restore: return .restoreFromBackup(bounds: .none)
            case .keep(let seconds): return .keepHistory(seconds: seconds)
            case .leave(let successor):
                return .leave(successor: successor.map { people[$0].id }, bounds: .none)
            }
        }

        /// Sometimes a person rolls keys, or rarely revokes.
        mutating func someRolling() throws {
            let who = random.below(RightsTests.personCount)
            guard random.oneIn(6), !model.chains[who].isRevoked else { return }
            if random.oneIn(5) {
                try people[who].revoke()
                model.chains[who] = (model.chains[who].length + 1, true)
            } else {
                try people[who].roll()
                model.chains[who].length += 1
            }
        }

        mutating func step(_ seed: UInt64, _ number: Int) throws {
            try someRolling()
            let act = someAct()
            let anybody = random.below(RightsTests.personCount)
            // Most of the time a signer with some rights.
            let powerful = model.members.filter { $0.value.role == .owner || $0.value.role == .admin }
            let actor = random.oneIn(3) ? anybody : random.pick(powerful.keys.sorted()) ?? anybody
            let newest = people[actor].signing.count - 1
            let key = random.oneIn(4) ? random.below(newest + 1) : model.members[actor]?.known ?? newest
            let signing = min(key, newest)
            let before = chain.head
            var expected = model
            let isExpected = expected.perform(act, by: actor, key: signing)
            var isAccepted = true
            do { try append(try operation(act), by: actor, key: signing) } catch is TrustError {
                isAccepted = false
            }
            let place: Comment = "seed \(seed), step \(number): \(actor) with key \(signing): \(act)"
            #expect(isAccepted == isExpected, place)
            if isExpected { model = expected }
            accepted += isAccepted ? 1 : 0
            refused += isAccepted ? 0 : 1
            if !isAccepted { #expect(chain.head == before, place) }
            compare(place)
        }

        private func compare(_ place: Comment) {
            let state = chain.state
            #expect(state.epoch == Epoch(model.epoch), place)
            #expect(state.members.count == model.members.count, place)
            let left = Dictionary(uniqueKeysWithValues: model.left.map { (people[$0.key].id, $0.value) })
            #expect(state.left == left, place)
            for (index, member) in model.members {
                let found = state.members[people[index].id]
                #expect(found?.role == member.role, place)
                #expect(found?.head.sequence == UInt64(member.known), place)
                #expect((found?.keys == nil) == member.isRevoked, place)
            }
        }
    }

    @Test func theVerifierAndTheModelAgree() throws {
        var accepted = 0
        var refused = 0
        for seed in Seeds.first(24) {
            var history = try History(seed: seed)
            for number in 0..<80 {
                try history.step(seed, number)
                // A history may have ended: nobody has any rights left.
                if history.model.members.values.allSatisfy(\.isRevoked) { break }
            }
            let again = try MemberChain(
                VaultID(low: seed, high: 1), replaying: history.chain.links.map(\.bytes),
                knowing: history.people.known)
            #expect(again.state.members == history.chain.state.members, "seed \(seed)")
            #expect(again.state.owed == history.chain.state.owed, "seed \(seed)")
            accepted += history.accepted
            refused += history.refused
        }
        // The histories must contain enough links.
        #expect(accepted > 200)
        #expect(refused > 200)
    }

    /// `append` accepts what `link` makes: a device never makes a link that others would refuse.
    @Test func madeLinksAreAccepted() throws {
        for seed in Seeds.first(10) {
            var history = try History(seed: seed)
            for number in 0..<40 {
                let operation = try history.operation(history.someAct())
                let actor = history.random.below(Self.personCount)
                let known = history.people.known
                let pair = history.people[actor].signing[0]
                let forged = try forged(
                    operation, chain: history.chain.id, after: history.chain.head, by: pair.key)
                let made = try? history.chain.link(operation, at: now, by: pair.key, knowing: known)
                let isTaken = (try? history.chain.append(forged, knowing: known)) != nil
                #expect((made != nil) == isTaken, "seed \(seed), step \(number)")
                if let made { #expect(made == forged) }
            }
        }
    }
}
