import CofferFacts
import CofferFormat
import CofferTrust
import Testing

@testable import CofferSync

struct PackRetirementsTests {
    private func pack(_ number: UInt64) -> PackID { PackID(low: number, high: 1) }
    private func packs(_ numbers: UInt64...) -> [PackID] { numbers.map(pack) }

    /// Log 1 is this device's, and logs 1 and 2 are those of administrators.
    private func record(_ commits: VerifiedCommit..., in retirements: inout PackRetirements) {
        for commit in commits {
            retirements.record(commit, own: log(1)) { $0 == identity(1) || $0 == identity(2) }
        }
    }

    private func asking(_ number: UInt64, _ sequence: UInt64, _ packs: [PackID]) throws -> VerifiedCommit {
        try commit(number, sequence, notices: [.retirement(packs)], writes: false)
    }

    @Test("Only administrators retire packs")
    func administrators() throws {
        var retirements = PackRetirements()
        record(try asking(3, 5, packs(1)), in: &retirements)
        #expect(retirements == PackRetirements())
        record(try asking(2, 5, packs(1, 2)), in: &retirements)
        #expect(retirements.others[log(2)]?.packs == Set(packs(1, 2)) && retirements.isCheckDue)
    }

    @Test("Each question is answered once, and again if something else is needed")
    func answers() throws {
        var retirements = PackRetirements()
        record(try asking(2, 5, packs(1, 2, 3)), in: &retirements)
        let used = ContentPacks([pack(2), pack(9)])
        let answers = retirements.answers(using: used)
        #expect(answers == [.retention(dot(2, 5), .some(packs(2)))])
        retirements.answered(answers, using: used)
        #expect(!retirements.isCheckDue && retirements.answers(using: used) == [])
        // The content of another commit refers to one of them.
        record(try commit(3, 1), in: &retirements)
        #expect(retirements.isCheckDue)
        let more = ContentPacks([pack(3), pack(2)])
        #expect(retirements.answers(using: more) == [.retention(dot(2, 5), .some(packs(3)))])
        // The second question is about those that are left, and needs an answer of its own.
        record(try asking(2, 7, packs(1)), in: &retirements)
        #expect(retirements.answers(using: used) == [.retention(dot(2, 7), .some([]))])
        record(try asking(2, 8, []), in: &retirements)
        #expect(retirements.others.isEmpty && retirements.answers(using: more) == [])
    }

    @Test("A device that does not know what its contents refer to retains everything")
    func unknownContents() throws {
        var retirements = PackRetirements()
        record(try asking(2, 5, packs(1)), in: &retirements)
        let unknown = ContentPacks([], isComplete: false)
        #expect(retirements.answers(using: unknown) == [.retention(dot(2, 5), .all)])
        retirements.madeUnchecked()
        #expect(retirements.answers(using: ContentPacks()) == [.retention(dot(2, 5), .all)])
        // A round that failed begins with what is saved.
        var saved = PackRetirements()
        for change in retirements.changesToSave() {
            try saved.restore(KeptRow(change.key, try #require(change.value)))
        }
        #expect(saved.answers(using: ContentPacks()) == [.retention(dot(2, 5), .some([]))])
        let loaded = saved.following(retirements)
        #expect(loaded.answers(using: ContentPacks()) == [.retention(dot(2, 5), .all)])
        retirements.answered([.retention(dot(2, 5), .all)], using: ContentPacks())
        #expect(retirements.others[log(2)]?.retained == Set(packs(1)))
        #expect(retirements.answers(using: unknown) == [])
        // Without a question, nothing is retained later.
        var none = PackRetirements()
        none.madeUnchecked()
        record(try asking(2, 5, packs(1)), in: &none)
        #expect(none.answers(using: ContentPacks()) == [.retention(dot(2, 5), .some([]))])
    }

    @Test("A device deletes only what nobody retains")
    func ownRetirement() throws {
        var retirements = PackRetirements()
        retirements.beginOwn(Set(packs(1, 2, 3, 4)), isSecond: false, by: 6, at: 1000)
        record(
            try commit(3, 2, heads: [1: 6], writes: false),
            try commit(
                2, 4, heads: [1: 6], notices: [.retention(dot(1, 6), .some(packs(2)))], writes: false),
            in: &retirements)
        let own = try #require(retirements.own)
        #expect(own.packs == Set(packs(1, 3, 4)))
        #expect(own.isDone(log(2), .writer) && own.isDone(log(3), .reader))
        #expect(!own.isDone(log(3), .writer) && !own.isDone(log(4), .reader) && !own.isDone(log(3), .owner))
        // An answer to an earlier question counts as far as it retains something.
        let early = CommitNotice.retention(dot(1, 3), .some(packs(3)))
        record(try commit(4, 2, notices: [early], writes: false), in: &retirements)
        #expect(retirements.own?.packs == Set(packs(1, 4)))
        #expect(retirements.own?.isDone(log(4), .writer) == false)
        // What this device itself refers to stays, too.
        retirements.answered([], using: ContentPacks([pack(4)]))
        #expect(retirements.own?.packs == Set(packs(1)))
        // A day later, a writer that has seen the question, and does not know it, is asked again.
        let later: UInt64 = 1000 + 86_400_001
        #expect(retirements.own?.isStuck(log(3), .writer, at: later) == true)
        #expect(retirements.own?.isStuck(log(3), .writer, at: 1000) == false)
        #expect(retirements.own?.isStuck(log(3), .reader, at: later) == false)
        #expect(retirements.own?.isStuck(log(2), .writer, at: later) == false)
        #expect(retirements.own?.isStuck(log(9), .writer, at: later) == false)
        retirements.endOwn()
        #expect(retirements.own == nil)
    }

    @Test("What others retain does not replace an answer, as it may not count")
    func answersOfOthers() throws {
        var retirements = PackRetirements()
        record(
            try asking(2, 5, packs(1)),
            try commit(3, 2, notices: [.retention(dot(2, 5), .some(packs(1)))], writes: false),
            in: &retirements)
        let used = ContentPacks([pack(1)])
        #expect(retirements.answers(using: used) == [.retention(dot(2, 5), .some(packs(1)))])
    }

    @Test("A device whose commits do not count any more answers again")
    func beginningAgain() throws {
        var retirements = PackRetirements()
        record(try asking(2, 5, packs(1)), in: &retirements)
        let used = ContentPacks([pack(1)])
        retirements.answered(retirements.answers(using: used), using: used)
        retirements.beginOwn(Set(packs(8)), isSecond: false, by: 6, at: 1000)
        #expect(retirements.rowsAfterRebuild.map(\.key) == [KeptRow.Key(.retirement, id: log(2).bytes)])
        retirements.beginAgain()
        #expect(retirements.own == nil && retirements.isCheckDue)
        #expect(retirements.answers(using: ContentPacks()) == [.retention(dot(2, 5), .all)])
    }

    @Test("Retirements survive a restart")
    func rows() throws {
        var retirements = PackRetirements()
        record(try asking(2, 5, packs(1, 2)), in: &retirements)
        retirements.answered([.retention(dot(2, 5), .some([]))], using: ContentPacks())
        retirements.beginOwn(Set(packs(8, 9)), isSecond: true, by: 6, at: 1000)
        record(
            try commit(2, 6, heads: [1: 6], notices: [.retention(dot(1, 6), .some([]))], writes: false),
            in: &retirements)
        var restored = PackRetirements()
        let changes = retirements.changesToSave()
        #expect(changes.count == 2 && retirements.changesToSave() == [])
        for change in changes {
            try restored.restore(KeptRow(change.key, try #require(change.value)))
        }
        #expect(restored.others == retirements.others && restored.own == retirements.own)
        #expect(restored.isCheckDue && restored.changesToSave() == [])
        record(try asking(2, 9, []), in: &restored)
        restored.endOwn()
        #expect(restored.changesToSave().allSatisfy { $0.value == nil })
    }

    @Test("A damaged row is an error")
    func damagedRows() throws {
        var retirements = PackRetirements()
        retirements.beginOwn(Set(packs(8, 9)), isSecond: true, by: 6, at: 1000)
        let row = try #require(retirements.changesToSave().first)
        let bytes = try #require(row.value)
        for count in 0..<bytes.count {
            #expect(throws: FormatError.self) {
                var other = PackRetirements()
                try other.restore(KeptRow(row.key, Array(bytes[..<count])))
            }
        }
    }
}
