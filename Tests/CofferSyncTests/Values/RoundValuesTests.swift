import CofferFormat
import CofferRemote
import CofferTrust
import Testing

@testable import CofferSync

struct RoundStateTests {
    @Test("The first round looks everywhere, and so does the first one after a failure")
    func scopes() {
        var rounds = RoundState()
        #expect(rounds.begin(.changes) == .all)
        rounds.loaded()
        rounds.succeeded(.all)
        #expect(rounds.begin(.changes) == .changes)
        rounds.succeeded(.changes)
        rounds.failed()
        #expect(!rounds.isLoaded && rounds.begin(.changes) == .all)
        rounds.loaded()
        // A round that did not look everywhere does not make up for it.
        rounds.succeeded(.poll)
        #expect(rounds.begin(.changes) == .all)
        #expect(rounds.number == 4)
    }

    @Test("A state that must be loaded again makes a round look everywhere")
    func loading() {
        var rounds = RoundState()
        rounds.loaded()
        rounds.succeeded(.all)
        rounds.mustLoad()
        #expect(rounds.begin(.changes) == .all)
    }

    @Test("The first failure of a pull is the one that is thrown")
    func pullFailures() {
        var rounds = RoundState()
        rounds.pullFailed(.noMembers)
        rounds.pullFailed(.notMember)
        #expect(rounds.pullFailure == .noMembers)
        rounds.beginPull()
        #expect(rounds.pullFailure == nil)
    }
}

struct FindingsTests {
    private func finding(_ number: Int) -> SyncFinding { .putAgain(sequence: UInt64(number), others: 0) }

    @Test("Each finding is kept once, and the oldest are dropped")
    func findings() {
        var findings = Findings()
        for number in 0..<Findings.countMax + 2 { findings.report(finding(number)) }
        findings.report(finding(5))
        #expect(findings.all.count == Findings.countMax)
        #expect(findings.all.first == finding(2) && !findings.contains { $0 == finding(1) })
        findings.resolve { $0 != finding(9) }
        #expect(findings.all == [finding(9)])
    }
}

struct KnownPacksTests {
    private func names(_ numbers: Range<Int>) throws -> [RemoteName] {
        try numbers.map { try #require(RemoteName("vaults/packs/\($0)")) }
    }

    @Test("Packs are looked at every ten minutes, and less often while the remote loses them again")
    func pauses() {
        var packs = KnownPacks()
        packs.beginLook(at: 1_000_000)
        #expect(!packs.isLookDue(at: 1_599_999) && packs.isLookDue(at: 1_600_000))
        // A clock that was set back does not end the looks.
        #expect(packs.isLookDue(at: 0))
        packs.looked(lostCount: 1, byteCount: 5, lostByteCount: 0, isPart: false)
        #expect(!packs.isLookDue(at: 2_199_999) && packs.isLookDue(at: 2_200_000))
        packs.looked(lostCount: 0, byteCount: 0, lostByteCount: 0, isPart: false)
        #expect(packs.isLookDue(at: 1_600_000))
    }

    @Test("The next round continues what was only a part, and asks again for what is lost for good")
    func parts() {
        var packs = KnownPacks()
        packs.beginLook(at: 1_000_000)
        packs.looked(lostCount: 1, byteCount: 5, lostByteCount: 0, isPart: true)
        #expect(packs.isLookDue(at: 1_300_000))
        packs.beginLook(at: 1_300_000)
        packs.looked(lostCount: 1, byteCount: 0, lostByteCount: 7, isPart: false)
        #expect(packs.isLookDue(at: 1_300_001) && packs.lostByteCount == 7)
    }

    @Test("Each of many packs gets its turn")
    func turns() throws {
        var packs = KnownPacks()
        let all = try names(0..<3)
        #expect(packs.inTurn(all) == all)
        packs.asked(all[1])
        #expect(packs.inTurn(all) == [all[2], all[0], all[1]])
        packs.asked(all[2])
        #expect(packs.inTurn(all) == all && packs.inTurn([]) == [])
    }
}

struct ComparisonTurnsTests {
    @Test("Objects that a listing lacks come first, and all others get their turn")
    func turns() throws {
        let objects = try (0..<100).map { number in
            KeptObject(name: try #require(RemoteName("vaults/a/\(1000 + number)")), bytes: [1])
        }
        // The last one is not listed, and the one before it has another size.
        var sizes: [RemoteName: Int] = [:]
        for object in objects.dropLast() { sizes[object.name] = 1 }
        sizes[objects[98].name] = 2
        var turns = ComparisonTurns()
        var compared: Set<RemoteName> = []
        for _ in 0..<4 {
            let some = turns.next(objects, sizes, .links)
            #expect(some.suffix(2).map(\.name) == objects.suffix(2).map(\.name))
            #expect(some.count == ComparisonTurns.listedCountMax + 2)
            compared.formUnion(some.map(\.name))
        }
        #expect(compared.count == 100)
        #expect(turns.next([], sizes, .links).isEmpty)
    }
}

struct JoinRequestsTests {
    private func entry(_ number: Int, _ byteCount: Int = 500) throws -> RemotePage.Entry {
        let name = try #require(RemoteName("vaults/requests/\(1000 + number)"))
        return RemotePage.Entry(name: name, byteCount: byteCount)
    }

    private func next(_ entries: [RemotePage.Entry], _ requests: inout JoinRequests) -> [RemotePage.Entry] {
        requests.beginListing()
        _ = requests.add(entries)
        return requests.endListing()
    }

    @Test("Requests that keep coming do not hide others")
    func turns() throws {
        let all = try (0..<100).map { try entry($0) }
        var requests = JoinRequests()
        let first = next(all, &requests)
        #expect(first == Array(all.prefix(64)))
        let second = next(all, &requests)
        #expect(second == Array(all.suffix(36) + all.prefix(28)))
    }

    @Test("A refused request is not fetched again, unless it changes")
    func refusals() throws {
        var requests = JoinRequests()
        let one = try entry(1)
        requests.refuse(one.name, byteCount: one.byteCount)
        #expect(requests.isRefused(one.name.last) && next([one], &requests).isEmpty)
        #expect(next([try entry(1, 501)], &requests).count == 1)
        requests.forgetRefusals()
        #expect(next([one], &requests) == [one])
        // A refusal is no request.
        #expect(next([try entry(2, JoinRefusalRecord.byteCount)], &requests).isEmpty)
    }
}

struct LogListingTests {
    private let layout = RemoteLayout(VaultID(low: 1, high: 2))

    private func known() throws -> KnownLogs {
        var known = KnownLogs(
            own: log(9),
            limits: KnownLogs.Limits(logCountMax: 8, authorLogCountMax: 8, waitingByteCountMax: 1000),
            staleRoundsMax: 3)
        let own = try commit(9, 1)
        known.recordApplied(own, LogSummary(own, after: nil))
        known.recordApplied(try commit(1, 50), try summary(1, 50))
        return known
    }

    private func entries(_ dots: [Dot]) -> [RemotePage.Entry] {
        dots.map { RemotePage.Entry(name: layout.commit($0.log, $0.sequence), byteCount: 7) }
    }

    @Test("Applied commits are skipped, and the last one of each log is found")
    func skipping() throws {
        var listing = LogListing(try known(), layout, own: nil)
        guard case .behind(let name) = listing.add(entries([dot(1, 1), dot(1, 2)])) else {
            Issue.record("the listing does not skip applied commits")
            return
        }
        #expect(name == layout.commit(log(1), 49))
        _ = listing.add(entries([dot(1, 50), dot(1, 52), dot(5, 2)]))
        #expect(listing.lastCommits == [log(1): 52, log(5): 2])
    }

    @Test("Unknown logs get their turn one after the other; stopped ones take none")
    func turns() throws {
        var known = try known()
        _ = known.stop(at: dot(6, 1), .elsewhere)
        var listing = LogListing(known, layout, own: nil)
        _ = listing.add(entries([dot(5, 1), dot(6, 1), dot(7, 1)]))
        #expect(Set(listing.lastCommits.keys) == [log(5), log(7)])
        known.newLogTurn = listing.newLogTurn
        var again = LogListing(known, layout, own: nil)
        _ = again.add(entries([dot(5, 1), dot(7, 1)]))
        // The turn begins again once all have had it.
        #expect(Set(again.lastCommits.keys) == [log(5), log(7)])
    }

    @Test("Sizes are recorded for this device's own log only")
    func ownLog() throws {
        var listing = LogListing(try known(), layout, own: OwnLogListing(covered: 0, last: 3))
        _ = listing.add(entries([dot(1, 50), dot(9, 1), dot(9, 3)]))
        #expect(listing.own?.byteCounts == [1: 7, 3: 7])
        #expect(listing.own?.missing([:]) == [2])
    }
}

struct SavedStateTests {
    @Test("Rows are sorted by what they are about, and others are left out")
    func rows() throws {
        let first = try #require(try summary(1, 3))
        let change = first.row
        let rows = [
            KeptRow(change.key, try #require(change.value)),
            KeptRow(KeptRow.Key(.outgoing, number: 4), [1]), KeptRow(KeptRow.Key(.put, number: 4), [2]),
            KeptRow(KeptRow.Key(.memberLink, number: 0), [3]),
            KeptRow(KeptRow.Key(.identityLink, number: 1), [4]),
            KeptRow(KeptRow.Key(.pendingLink, number: 1), [6]),
            KeptRow(KeptRow.Key(.pendingLink, number: 0), [5]),
            KeptRow(KeptRow.Key(.pin, number: 0), [7]),
        ]
        let saved = try SavedState(rows, duties: MemberDuties())
        #expect(saved.logs == [first] && saved.commits == [4: [1]] && saved.put == [4: [2]])
        #expect(saved.memberLinks == [0: [3]] && saved.identityLinks.values.map { $0 } == [[1: [4]]])
        #expect(saved.duties.pending == PendingLink(link: [5], wraps: [6]))
        // What was pending before and is not saved is gone.
        #expect(try SavedState([], duties: saved.duties).duties.pending == nil)
    }

    @Test("A damaged row is an error", arguments: [KeptRow.Kind.log, .memberCard, .wraps, .checkpoint])
    func damagedRows(kind: KeptRow.Kind) {
        #expect(throws: FormatError.self) {
            try SavedState([KeptRow(KeptRow.Key(kind), [1, 2, 3])], duties: MemberDuties())
        }
    }
}

struct MemberDutiesTests {
    private let head = LinkHead(sequence: 3, hash: .zero)

    @Test("An inspection is due after a change of the members, after five minutes, and if one is incomplete")
    func inspections() {
        var duties = MemberDuties()
        #expect(duties.isInspectionDue(head, at: 0))
        duties.inspected(head, at: 1000)
        #expect(!duties.isInspectionDue(head, at: 1000 + MemberDuties.inspectionPause - 1))
        #expect(duties.isInspectionDue(head, at: 1000 + MemberDuties.inspectionPause))
        #expect(duties.isInspectionDue(LinkHead(sequence: 4, hash: .zero), at: 1001))
        // A clock that was set back does not end the inspections.
        #expect(duties.isInspectionDue(head, at: 999))
        duties.inspected(nil, at: 1000)
        #expect(duties.isInspectionDue(head, at: 1001))
    }

    @Test("A device waits an hour for the commits of a member that has left")
    func leaving() {
        var duties = MemberDuties()
        let waits = [5, 3_600_004, 3_600_005, 4].map { duties.hasWaited(for: identity(1), at: $0) }
        // The last time is before the first one: the hour begins again.
        #expect(waits == [false, false, true, false])
        let hasWaited = duties.hasWaited(for: identity(2), at: 3_600_005)
        #expect(!hasWaited)
    }

    @Test("A pending link is saved and forgotten by the same rows")
    func pending() {
        var duties = MemberDuties()
        let link = PendingLink(link: [1], wraps: [2])
        let saved = duties.setPending(link)
        #expect(saved.map(\.value) == [[1], [2]] && duties.pending == link && duties.rows == saved)
        let deleted = duties.setPending(nil)
        #expect(deleted.map(\.key) == saved.map(\.key) && deleted.allSatisfy { $0.value == nil })
        #expect(duties.rows.isEmpty)
    }
}
