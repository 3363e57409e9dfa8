import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
@testable import CofferVault

/// Which changes go into the intent log, and that they survive a crash.
@Suite struct IntentTests {
    private let test: TestVault
    private let vault: Vault
    private let number: Int64
    private let old = Pattern.make(50_000, seed: 1)

    init() throws {
        test = try TestVault.create()
        vault = try test.open()
        number = try vault.makeFile("a", old)
        _ = try vault.makeFile("b", old)
        try vault.commit()
    }

    /// Commits, and returns whether that took only a record of the intent log.
    private func commitsByRecord() throws -> Bool {
        let (records, commits) = (vault.intents.recordCount, base.commits)
        try vault.commit()
        let isRecord = vault.intents.recordCount == records + 1
        #expect((base.commits == commits) == isRecord)
        return isRecord
    }

    private var base: IndexBase { vault.state.withLock { $0.index.base } }

    /// Checks that the present content survives every power cut, whole.
    private func expectAfterCrash(_ comment: Comment? = nil) throws {
        let files = try vault.files()
        let attributes = try vault.attributes(of: number)
        for seed in UInt64(0)..<6 {
            let again = try test.crashed(seed: seed).open()
            let isSame = try again.files() == files
            #expect(isSame, comment)
            #expect(try again.attributes(of: number) == attributes, comment)
            #expect(try again.damage() == [], comment)
            #expect(again.problems.all == [], comment)
            try again.close()
        }
    }

    @Test func appendsAndOverwritesOfExistingFilesAreLogged() throws {
        for (offset, count) in [(50_000, 4096), (54_096, 1), (10, 20_000), (0, 100), (54_000, 60_000)] {
            try vault.put(Pattern.make(count, seed: 2), to: number, at: offset)
            #expect(try commitsByRecord(), "\(count) bytes at \(offset)")
            try expectAfterCrash("\(count) bytes at \(offset)")
        }
    }

    @Test func writesToSeveralFilesAreOneRecord() throws {
        let other = try vault.number(of: "b")
        for piece in 0..<10 {
            try vault.put(Pattern.make(700, seed: UInt64(piece)), to: number, at: 49_000 + piece * 500)
            try vault.put(Pattern.make(900, seed: UInt64(piece)), to: other, at: piece * 450)
        }
        #expect(try commitsByRecord())
        try expectAfterCrash()
    }

    @Test func attributesAndLongerSizesAreLogged() throws {
        var changes = AttributeChanges()
        changes.mode = 0o640
        changes.user = 5
        changes.modified = .at(12_345)
        _ = try vault.setAttributes(of: number, changes)
        #expect(try commitsByRecord())
        try vault.truncate(number, to: 90_000)
        #expect(try commitsByRecord())
        try vault.contents.allocate(.reserve(keepsSize: false), of: number, 0..<100_000, by: TestVault.owner)
        #expect(try commitsByRecord())
        // Down again over the hole: no content is lost.
        try vault.truncate(number, to: 60_000)
        try vault.put([1], to: number, at: 59_000)
        #expect(try commitsByRecord())
        try expectAfterCrash()
    }

    /// Each of these needs a commit of the index, also together with a small write; the next small write
    /// does not.
    @Test(arguments: 0..<12)
    func otherChangesCommitTheIndex(change: Int) throws {
        try vault.put([1], to: number)
        #expect(try commitsByRecord())
        try vault.put([2], to: number)
        switch change {
        case 0: _ = try vault.makeFile("new")
        case 1: try vault.remove("b")
        case 2: _ = try vault.move("b", to: "c")
        case 3: try vault.setExtendedAttribute(Array("user.x".utf8), of: number, to: [1], .any)
        case 4: try vault.truncate(number, to: 10)
        case 5: try vault.put(Pattern.make(300_000), to: number)
        case 6: _ = try vault.unlink(Array("b".utf8), in: Vault.rootNumber)
        case 7: try vault.contents.allocate(.punchHole, of: number, 100..<200, by: TestVault.owner)
        case 8: _ = try vault.link(number, as: Array("d".utf8), in: Vault.rootNumber)
        case 9:
            try vault.contents.allocate(.zero(keepsSize: true), of: number, 100..<200, by: TestVault.owner)
        case 10: try vault.put(Pattern.make(261_800, seed: 2), to: number)
        default:
            for place in 0..<300 { try vault.put([3], to: number, at: 100 * place) }
            try vault.put(Pattern.make(250_000, seed: 2), to: number)
        }
        #expect(try !commitsByRecord())
        try expectAfterCrash()
        try vault.put([4], to: number)
        #expect(try commitsByRecord())
        try expectAfterCrash()
    }

    @Test func changesOfManyItemsCommitTheIndex() throws {
        let numbers = try (0..<300).map { try vault.makeFile("many \($0)") }
        try vault.commit()
        var changes = AttributeChanges()
        changes.mode = 0o600
        for number in numbers { _ = try vault.setAttributes(of: number, changes) }
        #expect(try !commitsByRecord())
        for number in numbers[..<200] { _ = try vault.setAttributes(of: number, changes) }
        #expect(try commitsByRecord())
        try expectAfterCrash()
    }

    /// A record cannot be about a new file that is not in the index yet.
    @Test func theFirstCommitOfAFileIsOneOfTheIndex() throws {
        let new = try vault.makeFile("new", [1, 2, 3])
        #expect(try !commitsByRecord())
        try vault.put([4], to: new, at: 3)
        #expect(try commitsByRecord())
        try expectAfterCrash()
    }

    /// Until a commit was synced, it is unknown whether the opened state of the index is on disk.
    @Test func theFirstCommitAfterOpeningIsOneOfTheIndex() throws {
        try vault.close()
        let again = try test.open()
        try again.put([1], to: number)
        try again.commit()
        #expect(again.intents.recordCount == 0)
        try again.put([2], to: number)
        try again.commit()
        #expect(again.intents.recordCount == 1)
    }

    /// Thousands of durable appends, with only occasional commits of the index.
    @Test func aLongRowOfAppendsIsDurableAtAnyTime() throws {
        var content = old
        var random = SplitMix64(seed: 1)
        let commits = base.commits
        for round in 0..<1500 {
            let bytes = random.bytes(1 + random.below(3000))
            try vault.put(bytes, to: number, at: content.count)
            content += bytes
            try vault.commit()
            guard round % 150 == 77 else { continue }
            let again = try test.crashed(seed: UInt64(round)).open()
            let isSame = try again.content(of: number) == content
            #expect(isSame, "round \(round)")
            #expect(try again.damage() == [], "round \(round)")
        }
        #expect(base.commits - commits <= 10)
        #expect(vault.intents.recordCount >= 1480)
        #expect(test.directory.bytes(of: "intents").count <= IntentLog.byteCountMax)
    }

    /// A record may not be built on content that compaction moves.
    @Test func compactionAndRecordsDoNotConflict() throws {
        var changes = AttributeChanges()
        for round in 0..<120 {
            try vault.put(Pattern.make(500, seed: UInt64(round)), to: number, at: 50_000 + 500 * round)
            try vault.commit()
        }
        changes.modified = .at(1)
        _ = try vault.setAttributes(of: number, changes)
        try vault.commit()
        _ = try vault.repacking.compact()
        try vault.put([1], to: number, at: 7)
        #expect(try !commitsByRecord())
        try expectAfterCrash()
    }

    /// The timer, an unmount and a check commit the index.
    @Test func theOwnersOfTheIndexCommitItAndRemoveTheIntentLog() throws {
        try vault.put([1], to: number)
        #expect(try commitsByRecord())
        let commits = base.commits
        try vault.commitIndex()
        #expect(base.commits == commits + 1)
        try vault.put([2], to: number)
        #expect(try commitsByRecord())
        #expect(try vault.damage() == [])
        #expect(base.commits == commits + 2)
        #expect(test.directory.paths.contains("intents"))
        try vault.close()
        #expect(!test.directory.paths.contains("intents"))
    }

    @Test func theTimerCommitsWhatIsInTheIntentLog() throws {
        let commits = base.commits
        try vault.start()
        try vault.put([1], to: number)
        #expect(try commitsByRecord())
        let end = Clock.monotonic + 20_000_000_000
        while base.commits == commits, Clock.monotonic < end { vault.upkeep.pause() }
        #expect(base.commits > commits)
        try vault.close()
    }
}
