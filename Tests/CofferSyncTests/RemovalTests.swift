import CofferCrypto
import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Synchronization
import Testing

@testable import CofferSync

/// Roles, removals, leaving, and the key that changes with them.
struct RemovalTests {
    @Test func aRemovedMemberGetsNothingNew() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        let mallory = try await world.joins("Mallory", .writer, by: olga)
        try await olga.writes("hello", "0")
        try await olga.sync()
        try await mallory.writes("hers", "1")
        try await mallory.sync()
        // The removal itself pulls her commit.
        try await olga.engine.remove(mallory.person.id)
        #expect(await olga.epoch == 2)
        #expect(await olga.members.count == 2)
        await #expect(throws: SyncError.membership(.removed(by: "Olga", link: 3))) {
            try await mallory.sync()
        }
        #expect(await mallory.engine.status.failure == .membership(.removed(by: "Olga", link: 3)))
        let wraps = try #require(world.remote.objects.first { world.layout.wraps(epoch: 2).contains($0.key) })
        #expect(try WrapSet(wraps.value)[mallory.person.id] == nil)
        try await olga.writes("after", "2")
        for device in [olga, will] { try await device.sync() }
        #expect(await will.files() == ["hello": "0", "hers": "1", "after": "2"])
        // Whatever else she has, she does not have the new key.
        #expect(await mallory.keys.keyring()?.all.count == 1)
        let name = world.layout.commit(olga.log, try await world.head(olga))
        let bytes = try #require(world.remote.objects[name])
        #expect(try SignedRecord(bytes, as: .commit).epoch == Epoch(2))
        #expect(await (olga.findings() + will.findings()).isEmpty)
        // Changes that she had not sent stay on her device.
        try await mallory.writes("late", "3")
        let objects = world.remote.objects
        await #expect(throws: SyncError.self) { try await mallory.sync() }
        #expect(world.remote.objects == objects)
    }

    /// A vault from which Mallory was removed, and what she needs to write a commit as if she did not know.
    private struct AfterRemoval {
        let world = MembershipWorld()
        let olga: Device, will: Device, mallory: Device
        private let head: LogSummary
        private let old: LinkHead

        init() async throws {
            olga = try await world.founded()
            will = try await world.joins("Will", .writer, by: olga)
            mallory = try await world.joins("Mallory", .writer, by: olga)
            try await mallory.writes("seen", "1")
            try await mallory.sync()
            head = try await mallory.ownSummary
            old = try await mallory.engine.chain.head.orThrow()
            try await olga.engine.remove(mallory.person.id)
            try await will.sync()
        }

        /// Puts the next commit of her log.
        func putNext(_ facts: [Fact]) async throws {
            let body = CommitBody(
                previous: head.head.hash, clock: head.clock, stateHash: .zero, heads: .none,
                introduction: nil, notices: [], facts: facts)
            try await put(body, at: Dot(log: mallory.log, sequence: head.head.sequence + 1))
        }

        /// Puts the first commit of a log that no other device knows.
        func putOther(_ facts: [Fact]) async throws {
            let body = CommitBody(
                previous: .zero, clock: head.clock, stateHash: .zero, heads: .none,
                introduction: try LogIntroduction(name: "Mallory", label: "den"), notices: [], facts: facts)
            try await put(body, at: Dot(log: LogID(low: 5, high: 5), sequence: 1))
        }

        private func put(_ body: CommitBody, at dot: Dot) async throws {
            let bytes = SignedRecord.sealing(
                body.paddedBytes, as: .commit, at: dot, under: world.key, members: old, writes: body.writes,
                by: mallory.person.author)
            try await world.remote.put(
                world.layout.commit(dot.log, dot.sequence), .memory(bytes), ifAbsent: false)
        }
    }

    /// The storage helps her.
    @Test func aLaterOrBackdatedCommitOfTheRemovedIsRefused() async throws {
        let after = try await AfterRemoval()
        try await after.putNext(try fileFacts(9, "backdated"))
        try await after.putOther(try fileFacts(10, "other"))
        let late = try after.world.device(after.olga.person, "late")
        for device in [after.olga, after.will, late] {
            try await device.sync()
            #expect(await device.files() == ["seen": "1"])
            let refused = await device.findings().filter {
                if case .stopped(_, _, .right(.tooLate(link: 3, writes: true))) = $0 { true } else { false }
            }
            #expect(refused.count == 2)
        }
    }

    /// Her device had acknowledged before it learned of the removal.
    @Test func aLateAcknowledgementIsNothingToReport() async throws {
        let after = try await AfterRemoval()
        try await after.putNext([])
        try await after.olga.sync()
        #expect(await after.olga.engine.logs.hasEnded(after.mallory.log))
        #expect(await after.olga.findings().isEmpty)
    }

    /// Her own device does not report it either: nothing is lost with it.
    @Test func aLateAcknowledgementOfOnesOwnIsNothingToReport() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let mallory = try await world.joins("Mallory", .writer, by: olga)
        mallory.setup.newLog = { LogID(low: 78, high: 78) }
        mallory.restart()
        try await mallory.writes("hers", "1")
        try await mallory.sync()
        try await olga.writes("before", "2")
        try await olga.sync()
        try await olga.engine.remove(mallory.person.id)
        let link = world.layout.member(2)
        let bytes = try #require(world.remote.objects[link])
        try await world.remote.delete(link)
        try await mallory.sync()
        try await world.remote.put(link, .memory(bytes), ifAbsent: true)
        await #expect(throws: SyncError.membership(.removed(by: "Olga", link: 2))) {
            try await mallory.sync()
        }
        try await olga.sync()
        #expect(await olga.engine.logs.hasEnded(mallory.log))
        try await olga.engine.add(try mallory.person.card, role: .writer)
        try await mallory.sync()
        #expect(await mallory.findings().isEmpty)
        #expect(await mallory.files() == olga.files())
    }

    @Test func aReaderSendsNothing() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let rita = try await world.joins("Rita", .reader, by: olga)
        try await olga.writes("a", "1")
        try await olga.sync()
        try await rita.writes("mine", "2")
        try await rita.sync()
        try await olga.sync()
        #expect(await olga.files() == ["a": "1"])
        for (name, bytes) in world.remote.objects where world.layout.log(rita.log).contains(name) {
            let commit = try await rita.engine.verifier().authentic(
                bytes, at: Dot(log: rita.log, sequence: try RemoteLayout.sequence(of: name).orThrow()))
            #expect(!commit.point.writes && commit.body.facts.isEmpty)
        }
        #expect(await rita.replica.setAside.map(\.unsent) == [true])
        // Once she may write, changes from then on are sent.
        try await olga.engine.setRole(of: rita.person.id, to: .writer)
        try await rita.sync()
        try await rita.writes("mine", "2")
        try await rita.sync()
        try await olga.sync()
        #expect(await olga.files() == ["a": "1", "mine": "2"])
        // Then she may no longer write; her earlier changes stay.
        try await olga.engine.setRole(of: rita.person.id, to: .reader)
        try await rita.writes("more", "3")
        for device in [rita, olga] { try await device.sync() }
        for device in [rita, olga] { #expect(await device.files() == ["a": "1", "mine": "2"]) }
        #expect(await rita.replica.setAside.count == 2)
        #expect(await (olga.findings() + rita.findings()).isEmpty)
        await #expect(throws: SyncError.membership(.refused(.nothingNew))) {
            try await olga.engine.setRole(of: rita.person.id, to: .reader)
        }
    }

    @Test func aLeavingMemberOwesARotation() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let ada = try await world.joins("Ada", .admin, by: olga)
        let will = try await world.joins("Will", .writer, by: olga)
        let rita = try await world.joins("Rita", .reader, by: olga)
        try await will.writes("last", "1")
        try await will.engine.leave()
        await #expect(throws: SyncError.membership(.left)) { try await will.sync() }
        // A reader sees that a rotation is due, but may not make one.
        try await rita.sync()
        #expect(await rita.memberFindings() == [.wraps(.rotationOwed(.left(will.person.id)))])
        #expect(try await rita.engine.roster(verified: []).owed == [.left(will.person.id)])
        #expect(await rita.epoch == 1)
        // The next admin's round rotates the key; the others' rounds do nothing more.
        for device in [ada, olga, rita, ada] { try await device.sync() }
        for device in [ada, olga, rita] {
            #expect(await device.epoch == 2)
            #expect(await device.files() == ["last": "1"])
            #expect(await device.findings().isEmpty)
        }
    }

    @Test func theLastOwnerNamesASuccessor() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        await #expect(throws: SyncError.membership(.refused(.lastOwner))) { try await olga.engine.leave() }
        let stranger = try world.person("Eve").id
        await #expect(throws: SyncError.membership(.refused(.wrongSuccessor))) {
            try await olga.engine.leave(successor: stranger)
        }
        await #expect(throws: SyncError.membership(.refused(.lastOwner))) {
            try await olga.engine.setRole(of: olga.person.id, to: .writer)
        }
        try await olga.engine.leave(successor: will.person.id)
        try await will.sync()
        #expect(await will.members == [will.person.id: .owner])
        #expect(await will.epoch == 2)
        try await will.writes("own", "1")
        try await will.sync()
        #expect(await will.findings().isEmpty)
    }

    @Test func nobodyIsRemovedBeyondOnesRight() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let ada = try await world.joins("Ada", .admin, by: olga)
        let will = try await world.joins("Will", .writer, by: olga)
        for device in [ada, will] { try await device.sync() }
        let links = world.linkCount
        await #expect(throws: SyncError.membership(.refused(.missingRight(.removeOwners)))) {
            try await ada.engine.remove(olga.person.id)
        }
        await #expect(throws: SyncError.membership(.refused(.missingRight(.removeAdmins)))) {
            try await will.engine.remove(ada.person.id)
        }
        await #expect(throws: SyncError.membership(.refused(.missingRight(.rotate)))) {
            try await will.engine.rotate()
        }
        await #expect(throws: SyncError.membership(.refused(.cannotRemoveSelf))) {
            try await ada.engine.remove(ada.person.id)
        }
        let stranger = try world.person("Eve").id
        await #expect(throws: SyncError.membership(.refused(.notMember(stranger)))) {
            try await olga.engine.remove(stranger)
        }
        #expect(world.linkCount == links)
        #expect(world.wrapCount(2) == 0)
    }

    @Test func aRevokedIdentityHasNoKeyOfTheNextEpoch() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        let chain = will.person.chain
        let revoke = try chain.link(.revoke, at: now, by: will.person.signing)
        try await world.remote.put(
            world.layout.identityLink(will.person.user, 1), .memory(revoke), ifAbsent: true)
        olga.restart()
        try await olga.sync()
        #expect(await olga.epoch == 2)
        #expect(try await olga.engine.roster(verified: []).members.map(\.keys).contains(.revoked))
        await #expect(throws: SyncError.membership(.revoked)) { try await will.sync() }
        #expect(await olga.findings().isEmpty)
    }

    @Test func rolledKeysAreRecordedAndTheKeyChanges() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        try await will.writes("old", "1")
        try await will.sync()
        // His profile gets new identity keys; his device continues its log.
        let person = try will.person.rolled(1)
        let rolled = try world.device(person, "desk")
        await rolled.keys.keep(will.keys.keyring())
        try await rolled.writes("new", "2")
        try await rolled.sync()
        #expect(await rolled.engine.chain.state.owed == [.keysRolled(person.id)])
        // The old keys can no longer sign commits.
        let commits = world.remote.objects.keys.count { world.layout.logs.contains($0) }
        try await will.writes("stolen", "3")
        try await will.sync()
        #expect(world.remote.objects.keys.count { world.layout.logs.contains($0) } == commits)
        try await olga.sync()
        try await rolled.sync()
        #expect(await rolled.epoch == 2)
        #expect(await rolled.files() == ["old": "1", "new": "2"])
        #expect(await olga.stateHash() == rolled.stateHash())
        try await olga.sync()
        #expect(await (olga.findings() + rolled.findings()).isEmpty)
    }

    @Test func inconsistentWrapsAreReported() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        let rita = try await world.joins("Rita", .reader, by: olga)
        let hash = try await olga.engine.chain.wraps(for: rita.person.id).orThrow()
        let name = world.layout.wraps(epoch: 1, hash: hash.bytes)
        let bytes = try #require(world.remote.objects[name])
        try await world.remote.delete(name)
        will.restart()
        try await will.sync()
        #expect(
            await Set(will.memberFindings().map(\.description))
                == Set(
                    [
                        MembershipFinding.wraps(.setMissing(hash, link: 2)),
                        .wraps(.memberWithoutWrap(rita.person.id)),
                    ].map(\.description)))
        try await world.remote.put(name, .memory(bytes), ifAbsent: true)
        // Keys that no link grants are reported once they have been there longer than their link could be
        // delayed.
        let eve = try world.person("Eve")
        let stray = try WrapSet.sealing(world.key, for: [try eve.recipient], by: will.person.signing)
        try await world.remote.put(
            world.layout.wraps(epoch: 1, hash: stray.hash.bytes), .memory(stray.record.bytes), ifAbsent: true)
        will.restart()
        try await will.sync()
        #expect(await will.findings().isEmpty)
        try await olga.engine.add(try eve.card, role: .reader)
        try await will.sync()
        #expect(await will.memberFindings() == [.wraps(.setWithoutLink(stray.hash))])
        // Another epoch has other sets of wraps.
        try await olga.engine.rotate()
        try await will.sync()
        #expect(await will.findings().isEmpty)
    }

    @Test func wrapsAreMadeForTheNewestTransientKey() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        // Will is offline, and the storage has lost his transient key, which was seen when he was admitted.
        try await world.remote.delete(world.layout.transientKey(will.person.user))
        try await olga.engine.rotate()
        #expect(await olga.epoch == 2)
        let pair = AgreementKey(secretKey: SecretBytes(copying: [UInt8](repeating: 7, count: 32).span.bytes))
        let newer = try TransientKey.signed(
            AgreementPublicKey(pair.publicKey), id: TransientKeyID(low: 7, high: 7), from: now + 1,
            of: will.person.chain, by: will.person.signing)
        // The card with the new transient key, as his profile would make it.
        let card = try IdentityCard.signed(
            name: "Will", identity: will.person.chain, transient: newer, by: will.person.signing)
        will.setup.card = { card }
        will.restart()
        try await will.sync()
        #expect(world.remote.objects[world.layout.transientKey(will.person.user)] == newer.record.bytes)
        func wrapKey() async throws -> TransientKeyID {
            try await olga.engine.rotate()
            let epoch = UInt64(try await olga.epoch.orThrow())
            let set = try #require(
                world.remote.objects.first { world.layout.wraps(epoch: epoch).contains($0.key) })
            return try KeyWrap.transientKey(of: try WrapSet(set.value)[will.person.id].orThrow())
        }
        #expect(try await wrapKey() == newer.record.id)
        // Putting back the old one changes nothing.
        try await world.remote.put(
            world.layout.transientKey(will.person.user), .memory(will.person.transient.record.bytes),
            ifAbsent: false)
        #expect(try await wrapKey() == newer.record.id)
    }

    @Test func theReceiptSaysWhatCanStillBeRead() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let mallory = try await world.joins("Mallory", .writer, by: olga)
        try await mallory.writes("hers", "1")
        try await mallory.sync()
        try await olga.writes("before", "1")
        try await olga.sync()
        let before = try await world.bound(olga)
        try await olga.engine.remove(mallory.person.id)
        for number in 0..<5 {
            try await olga.writes("after", "\(number)")
            try await olga.sync()
        }
        let usage: [Epoch: UInt64] = [Epoch(1): 100, Epoch(2): 30]
        let receipts = try await olga.engine.removalReceipts { usage }
        let receipt = try #require(receipts.first)
        #expect(receipts.count == 1 && receipt.identity == mallory.person.id && receipt.name == "Mallory")
        #expect(receipt.remover == olga.person.id && receipt.time == now)
        #expect(receipt.endedEpoch == .first)
        #expect(receipt.oldByteCount == 100 && receipt.newByteCount == 30)
        #expect(receipt.bounds.bounds == [try await world.bound(mallory)])
        #expect(Set(receipt.readable) == [before, try await world.bound(mallory)])
    }

    @Test func theRosterListsTheMembers() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let ada = try await world.joins("Ada", .admin, by: olga)
        let will = try await world.joins("Will", .writer, by: ada)
        let invite = try await world.invite(olga, .reader)
        try await olga.sync()
        let roster = try await olga.engine.roster(verified: [will.person.id])
        #expect(roster.members.map(\.role) == [.owner, .admin, .writer])
        #expect(roster.members.map(\.addedBy) == [olga.person.id, olga.person.id, ada.person.id])
        #expect(roster.members.map(\.isVerified) == [false, false, true])
        #expect(roster.members.map(\.isSelf) == [true, false, false])
        #expect(roster.members.allSatisfy { $0.joined == now })
        #expect(roster.members[1].name == "Ada")
        #expect(roster.members[1].fingerprint == Fingerprint(of: ada.person.id))
        #expect(roster.members[0].keys == .valid(until: now + 30 * day))
        #expect(roster.pending.map(\.invite) == [invite.id])
        #expect(roster.owed.isEmpty && roster.forks.isEmpty && roster.epoch == .first)
        try await olga.engine.withdraw(invite.id)
        #expect(try await olga.engine.roster(verified: []).pending.isEmpty)
    }
}

extension MembershipWorld {
    /// The number of a device's last commit.
    func head(_ device: Device) async throws -> UInt64 { try await bound(device).sequence }

    func bound(_ device: Device) async throws -> LogBound {
        let summary = try await device.ownSummary
        return LogBound(log: device.log, sequence: summary.head.sequence, hash: summary.head.hash)
    }
}
