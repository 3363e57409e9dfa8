import CofferCrypto
import CofferFormat
import Testing

@testable import CofferSync

struct OwnLogTests {
    private let bytes: [UInt8] = [1, 2, 3]

    private func restored(_ own: OwnLog, _ rows: [KeptChange], _ commits: [UInt64: [UInt8]]) -> OwnLog {
        var (commits, put): ([UInt64: [UInt8]], [UInt64: [UInt8]]) = (commits, [:])
        for row in rows where row.key.kind == .put { put[row.key.number] = row.value }
        for row in rows where row.key.kind == .outgoing { commits[row.key.number] = row.value }
        var restored = OwnLog()
        restored.restore(commits, put: put)
        return restored
    }

    @Test("A commit is unsent until it is put, and kept from then on")
    func aCommitIsUnsentOrKept() {
        var own = OwnLog()
        own.made(bytes, sequence: 1)
        #expect(own.unsent == [1: bytes] && own.kept.isEmpty)
        let rows = own.sent(bytes, sequence: 1)
        #expect(own.unsent.isEmpty && own.kept == [1: 3])
        #expect(rows == [OwnLog.put(1, bytes)])
        // A commit remade on the other side of a fork has to be put again.
        own.made([4], sequence: 1)
        #expect(own.unsent == [1: [4]] && own.kept.isEmpty)
    }

    @Test("After a restart, a commit counts as put only if the saved hash is its own")
    func restoring() {
        var own = OwnLog()
        own.made(bytes, sequence: 1)
        own.made(bytes, sequence: 2)
        let rows = own.sent(bytes, sequence: 1) + [OwnLog.put(2, [9])]
        let again = restored(own, rows, [1: bytes, 2: bytes])
        #expect(again.kept == [1: 3] && again.unsent == [2: bytes])
    }

    @Test("The oldest bytes are dropped once too many are kept, but never the last commit")
    func theOldestAreDropped() {
        var own = OwnLog()
        let quarter = [UInt8](repeating: 0, count: OwnLog.byteCountMax / 4)
        for sequence in 1...UInt64(4) { _ = own.sent(quarter, sequence: sequence) }
        #expect(own.kept.count == 4)
        let rows = own.sent(bytes, sequence: 5)
        #expect(own.kept.keys.sorted() == [2, 3, 4, 5])
        #expect(rows.filter { $0.value == nil }.map(\.key.number) == [1, 1])
        _ = own.sent([UInt8](repeating: 0, count: 2 * OwnLog.byteCountMax), sequence: 6)
        #expect(own.kept.keys.sorted() == [6])
    }

    @Test("A checkpoint makes the commits that it covers superfluous")
    func covered() {
        var own = OwnLog()
        for sequence in 1...UInt64(3) { _ = own.sent(bytes, sequence: sequence) }
        #expect(own.forget(coveredBy: 0).isEmpty)
        let rows = own.forget(coveredBy: 2)
        #expect(Set(rows.map(\.key.number)) == [1, 2])
        #expect(own.kept.keys.sorted() == [3])
    }

    @Test("A new log begins without commits, and deletes those of the old one")
    func anotherLog() {
        var own = OwnLog()
        _ = own.sent(bytes, sequence: 1)
        own.made(bytes, sequence: 2)
        own.owesAcknowledgement = true
        let rows = own.forgetAll()
        #expect(Set(rows.map(\.key.number)) == [1, 2])
        #expect(own.unsent.isEmpty && own.kept.isEmpty && own.owesAcknowledgement)
    }

    @Test("Only commits before the first unsent one must be at the remote")
    func lastSent() {
        var own = OwnLog()
        #expect(own.lastSent(head: 7) == 7)
        own.made(bytes, sequence: 5)
        own.made(bytes, sequence: 6)
        #expect(own.lastSent(head: 6) == 4)
        var first = OwnLog()
        first.made(bytes, sequence: 1)
        #expect(first.lastSent(head: 1) == 0)
    }

    @Test("After a rebuild no commit is made before the end of the log was seen")
    func theEndMustBeSeen() {
        var own = OwnLog()
        #expect(own.mayContinue(after: 0))
        own.mustSeeEnd(atLeast: 3)
        #expect(!own.mayContinue(after: 3))
        own.sawEnd()
        #expect(!own.mayContinue(after: 2) && own.mayContinue(after: 3))
    }

    @Test("The whole log is listed in thorough rounds, and otherwise every five minutes")
    func listings() {
        var own = OwnLog()
        own.beginListing(head: nil, covered: 0, now: 10, isThorough: true)
        #expect(own.listing == nil)
        own.beginListing(head: 4, covered: 1, now: OwnLog.pause, isThorough: false)
        #expect(own.listing?.covered == 1 && own.listing?.last == 4)
        own.compared(lost: [], at: OwnLog.pause)
        own.beginListing(head: 4, covered: 1, now: 2 * OwnLog.pause - 1, isThorough: false)
        #expect(own.listing == nil)
        own.beginListing(head: 4, covered: 1, now: 2 * OwnLog.pause, isThorough: false)
        #expect(own.listing != nil)
        // A clock that was set back does not end the looks.
        own.beginListing(head: 4, covered: 1, now: 0, isThorough: false)
        #expect(own.listing != nil)
    }

    @Test("A listing shows what is missing, cut short, or lost at the end")
    func missing() throws {
        var own = OwnLog()
        for sequence in 1...UInt64(9) { _ = own.sent(bytes, sequence: sequence) }
        own.beginListing(head: 9, covered: 1, now: 0, isThorough: true)
        var listing = try #require(own.listing)
        for sequence in [1, 2, 4, 5] as [UInt64] { listing.add(sequence, sequence == 4 ? 2 : 3) }
        let all = own.missing(in: listing) { _ in true }
        #expect(all == [3, 4, 6, 7, 8, 9] && own.isEndLost)
        let some = own.missing(in: listing) { $0 < 9 }
        #expect(some == [3, 4, 6, 7, 8] && !own.isEndLost)
    }

    @Test("Each of many lost commits gets its turn")
    func turns() {
        var own = OwnLog()
        let wanted = Array(1...UInt64(OwnLog.countMax + 10))
        #expect(own.nextBatch(wanted) == Array(wanted.prefix(OwnLog.countMax)))
        let second = own.nextBatch(wanted)
        #expect(second.prefix(10) == wanted.suffix(10))
        #expect(own.nextBatch([]) == [])
    }
}
