import CofferFacts
import CofferFormat
import CofferTestSupport
import CofferTrust
import SyncTestSupport
import Testing

import CofferSync

struct CommitVerifierTests {
    private let log = LogID(low: 5, high: 5)
    private var first: Dot { Dot(log: log, sequence: 1) }

    private func introduction() throws -> LogIntroduction { try LogIntroduction(name: "Will", label: "desk") }

    private func verifier(_ world: SyncWorld) -> CommitVerifier {
        CommitVerifier(vault: world.vault, root: rootID, chain: world.chain, keyring: world.keyring)
    }

    private func problem(_ body: () throws -> VerifiedCommit) -> CommitProblem? {
        do {
            _ = try body()
            return nil
        } catch {
            return error as? CommitProblem
        }
    }

    @Test func validCommitsAreAccepted() async throws {
        let world = try await SyncWorld()
        let writer = try await world.adds("Will", .writer)
        let bytes = try world.forge(
            writer, at: first, facts: try fileFacts(1, "a"), introduction: try introduction())
        let commit = try verifier(world).verify(bytes, at: first, after: nil)
        #expect(commit.author == writer.id && commit.body.facts.count == 4)
        let summary = LogSummary(
            log: log, author: writer.id, introduction: try introduction(), clock: commit.body.clock,
            head: commit.point, lastWrite: commit.point)
        let second = Dot(log: log, sequence: 2)
        let next = try world.forge(writer, at: second, previous: commit.point.hash)
        #expect(try verifier(world).verify(next, at: second, after: summary).point.writes == false)
    }

    @Test func eachByteIsSigned() async throws {
        let world = try await SyncWorld()
        let bytes = try world.forge(
            world.owner, at: first, facts: try fileFacts(1, "a"), introduction: try introduction())
        var random = SplitMix64(seed: 4)
        for index in bytes.indices where index < 60 || index > bytes.count - 200 || random.oneIn(9) {
            var other = bytes
            other[index] ^= UInt8(1 << random.below(8))
            #expect(
                problem { try verifier(world).verify(other, at: first, after: nil) } != nil, "byte \(index)")
        }
    }

    @Test func forbiddenCommitsAreRefusedForever() async throws {
        let world = try await SyncWorld()
        let writer = try await world.adds("Will", .writer)
        let reader = try await world.adds("Rita", .reader)
        let verifier = verifier(world)
        let hello = try introduction()
        let facts = try fileFacts(1, "a")
        func refusal(_ bytes: [UInt8], _ dot: Dot? = nil, _ summary: LogSummary? = nil) -> CommitProblem? {
            problem { try verifier.verify(bytes, at: dot ?? first, after: summary) }
        }
        #expect(
            refusal(try world.forge(reader, at: first, facts: facts, introduction: hello))
                == .right(.missingRight(.write)))
        #expect(refusal(try world.forge(reader, at: first, introduction: hello)) == nil)
        // The reader's commit claims only to acknowledge, and writes facts.
        #expect(
            refusal(try world.forge(reader, at: first, facts: facts, introduction: hello, writes: false))
                == .wrongClaim)
        #expect(refusal(try world.forge(writer, at: first, facts: facts)) == .wrongIntroduction)
        #expect(
            refusal(
                try world.forge(
                    writer, at: first, heads: [LogBound(log: log, sequence: 3, hash: .zero)], facts: facts,
                    introduction: hello)) == .namesOwnLog)
        let seen = [
            Fact(
                .content(ItemID(low: 1, high: 0), nil),
                replaces: [Dot(log: LogID(low: 8, high: 8), sequence: 4)])
        ]
        let unseen = refusal(try world.forge(writer, at: first, facts: seen, introduction: hello))
        #expect(unseen?.isFinal == true)
        let moved = [
            Fact(
                .moved(ItemID(low: 1, high: 0), of: Dot(log: LogID(low: 8, high: 8), sequence: 4), bytes: [1])
            )
        ]
        let other = [LogBound(log: LogID(low: 8, high: 8), sequence: 4, hash: .zero)]
        #expect(
            refusal(try world.forge(writer, at: first, heads: other, facts: moved, introduction: hello))
                == .right(.missingRight(.moveContents)))
        #expect(
            refusal(try world.forge(world.owner, at: first, heads: other, facts: moved, introduction: hello))
                == nil)
        let stranger = try Person("Sam", 77)
        #expect(refusal(try world.forge(stranger, at: first, introduction: hello)) == .notAuthentic)

        let commit = try verifier.verify(
            try world.forge(writer, at: first, clock: 500, introduction: hello), at: first, after: nil)
        let summary = LogSummary(
            log: log, author: writer.id, introduction: hello, clock: 500, head: commit.point, lastWrite: nil)
        let second = Dot(log: log, sequence: 2)
        let hash = commit.point.hash
        #expect(
            refusal(try world.forge(writer, at: second, previous: hash, clock: 499), second, summary)
                == .clockGoesBack)
        #expect(
            refusal(try world.forge(world.owner, at: second, previous: hash), second, summary)
                == .otherAuthor(world.owner.id))
        if case .forked(let fork) = refusal(try world.forge(writer, at: second), second, summary) {
            #expect(fork.dot == first && fork.known == hash)
        } else {
            Issue.record("another history is no fork")
        }
        #expect(refusal(try world.forge(writer, at: first, introduction: hello), second) == .elsewhere)
    }

    @Test func aLogCannotUseOlderMembers() async throws {
        let world = try await SyncWorld()
        let writer = try await world.adds("Will", .writer)
        let before = try world.chain.head.orThrow()
        _ = try await world.adds("Rita", .writer)
        let verifier = verifier(world)
        let commit = try verifier.verify(
            try world.forge(writer, at: first, introduction: try introduction()), at: first, after: nil)
        let summary = LogSummary(
            log: log, author: writer.id, introduction: try introduction(), clock: 0, head: commit.point,
            lastWrite: nil)
        let second = Dot(log: log, sequence: 2)
        for (members, expected) in [(before, CommitProblem.membersGoBack), (commit.point.members, nil)] {
            let bytes = try world.forge(writer, at: second, previous: commit.point.hash, members: members)
            let found = problem { try verifier.verify(bytes, at: second, after: summary) }
            #expect(found == expected)
            #expect(found?.isFinal != false)
        }
    }

    @Test func theEpochMatchesTheNamedMembers() async throws {
        let world = try await SyncWorld()
        let writer = try await world.adds("Will", .writer)
        let before = try world.chain.head.orThrow()
        let other = try await world.adds("Rita", .writer)
        try await world.removes(other)
        let verifier = verifier(world)
        let hello = try introduction()
        func refusal(_ epoch: Epoch, _ head: LinkHead?) throws -> CommitProblem? {
            let bytes = try world.forge(
                writer, at: first, introduction: hello, epoch: epoch, members: head)
            return problem { try verifier.verify(bytes, at: first, after: nil) }
        }
        #expect(try refusal(Epoch(2), nil) == nil)
        #expect(try refusal(Epoch(1), before) == nil)
        #expect(try refusal(Epoch(1), nil) == .wrongEpoch(Epoch(1), expected: Epoch(2)))
        #expect(try refusal(Epoch(2), before) == .wrongEpoch(Epoch(2), expected: Epoch(1)))
        let later = LinkHead(sequence: 99, hash: before.hash)
        #expect(try refusal(Epoch(2), later) == .unknownMembers(later))
    }

    @Test func removedMemberWritesNothingMore() async throws {
        let world = try await SyncWorld()
        let writer = try await world.adds("Will", .writer)
        let backdated = try world.chain.head.orThrow()
        let hello = try introduction()
        let good = try world.forge(writer, at: first, introduction: hello)
        let commit = try verifier(world).verify(good, at: first, after: nil)
        try await world.removes(writer, [LogBound(log: log, sequence: 1, hash: commit.point.hash)])
        let verifier = verifier(world)
        #expect(problem { try verifier.verify(good, at: first, after: nil) } == nil)
        let summary = LogSummary(
            log: log, author: writer.id, introduction: hello, clock: 0, head: commit.point, lastWrite: nil)
        let second = Dot(log: log, sequence: 2)
        // It names an old head of the member chain, uses an old key, and states a time before the removal.
        let late = try world.forge(
            writer, at: second, previous: commit.point.hash, clock: nowMilliseconds << 16,
            facts: try fileFacts(2, "b"), epoch: .first, members: backdated)
        let link = try world.chain.head.orThrow().sequence
        #expect(
            problem { try verifier.verify(late, at: second, after: summary) } == .right(.tooLate(link: link)))
        let open = try world.forge(
            writer, at: second, previous: commit.point.hash, facts: try fileFacts(2, "b"))
        #expect(problem { try verifier.verify(open, at: second, after: summary) } == .right(.notMember))
        // A different commit in the place of the one that the removal names.
        let swapped = try world.forge(
            writer, at: first, facts: try fileFacts(3, "c"), introduction: hello, epoch: .first,
            members: backdated)
        #expect(
            problem { try verifier.verify(swapped, at: first, after: nil) }
                == .right(.notTheBound(link: link)))
    }
}
