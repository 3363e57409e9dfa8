import CofferFacts
import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
@testable import CofferVault

@Suite struct TrackingTests {
    /// The records of the journal, including those in memory.
    private func journal(of vault: Vault) throws -> [JournalRecord] {
        try vault.state.withLock { state in
            try state.tree.storeJournal()
            return try state.index.journal(after: 0, limit: 1000).flatMap {
                try JournalRecord.records($0.record.span.bytes)
            }
        }
    }

    private func unsent(of vault: Vault) throws -> [Int64] {
        try vault.state.withLock { try $0.index.unsentItems(after: 0, limit: 1000) }
    }

    @Test func aVaultWithoutARemoteKeepsNothing() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        _ = try vault.makeFile("a", [1])
        try vault.commit()
        #expect(!vault.isTracking)
        #expect(vault.state.withLock { !$0.index.hasFacts })
    }

    @Test func theJournalBeginsWithExistingNames() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let directory = try vault.makeDirectory("d")
        let file = try vault.makeFile("a", in: directory, [1])
        _ = try vault.link(file, as: Array("b".utf8), in: Vault.rootNumber)
        try vault.outgoing.beginTracking()
        try vault.outgoing.beginTracking()
        #expect(vault.isTracking)
        _ = try vault.move("b", to: "c", into: directory)
        try vault.remove("a", in: directory)
        _ = try vault.move("d", to: "e", mode: .keep)
        let kinds = try journal(of: vault).map { record in
            switch record {
            case .make(_, let place): "make \(place.name)"
            case .link(_, let place): "link \(place.name)"
            case .move(let source, let target): "move \(source.name) \(target.name)"
            case .exchange(let one, let other): "exchange \(one.name) \(other.name)"
            case .remove(let place): "remove \(place.name)"
            }
        }
        #expect(
            kinds.sorted() == ["link a", "make b", "make d", "move b c", "move d e", "remove a"].sorted()
                || kinds.sorted()
                    == ["link b", "make a", "make d", "move b c", "move d e", "remove a"].sorted()
        )
        #expect(kinds.suffix(3) == ["move b c", "remove a", "move d e"])
        let damage = try vault.damage()
        #expect(damage == [])
    }

    @Test func changesOfOldItemsAreMarkedOnce() throws {
        let device = try ExchangeDevice.make(1)[0]
        let vault = device.vault
        let file = try vault.makeFile("a", [1])
        try vault.commitIndex()
        let marked = try unsent(of: vault)
        #expect(!marked.contains(file), "what was made is told by the journal")
        try device.collect()
        #expect(try unsent(of: vault) == [])
        // Through the intent log, too.
        try vault.put([2], to: file)
        try vault.commit()
        let again = try device.test.on(device.test.directory.copy()).open()
        try again.commitIndex()
        #expect(try unsent(of: again) == [file])
        let damage = try again.damage()
        #expect(damage == [])
        try again.remove("a")
        try again.commitIndex()
        #expect(try unsent(of: again).contains(file) == false)
        let rest = try again.damage()
        #expect(rest == [])
    }

    @Test func manyChangesOfOneFileAreOneFact() throws {
        let device = try ExchangeDevice.make(1)[0]
        let vault = device.vault
        let file = try vault.makeFile("a")
        try device.collect()
        for number in 0..<100 { try vault.put([UInt8(number)], to: file, at: number) }
        for _ in 0..<10 {
            _ = try vault.makeFile("gone")
            try vault.remove("gone")
        }
        let found = try vault.outgoing.collectChanges(
            as: device.participant, takesAll: true, recorder: PlainRecorder())
        let commit = try #require(found)
        let contents = commit.facts.filter {
            if case .content = $0.assertion { return true }
            return false
        }
        #expect(contents.count == 1)
        #expect(commit.facts.count <= 4, "content and times")
        #expect(
            try vault.outgoing.collectChanges(
                as: device.participant, takesAll: true, recorder: PlainRecorder()) == nil
        )
    }

    /// Others read what is left to send in the last commit of the index.
    @Test func whatLeavesNothingToSendIsNotCounted() throws {
        let device = try ExchangeDevice.make(1)[0]
        let vault = device.vault
        let files = try (0..<20).map { try vault.makeFile("f\($0)", [1]) }
        try device.collect()
        for file in files {
            var changes = AttributeChanges()
            changes.modified = .at(try vault.attributes(of: file).modified)
            _ = try vault.setAttributes(of: file, changes)
        }
        try vault.commitIndex()
        #expect(try vault.outgoing.unsentCount() == 20)
        let commit = try vault.outgoing.collectChanges(
            as: device.participant, takesAll: true, recorder: PlainRecorder())
        #expect(commit == nil)
        #expect(try vault.outgoing.unsentCount() == 0)
    }

    @Test func aFileComesWithItsContent() throws {
        let device = try ExchangeDevice.make(1)[0]
        _ = try device.vault.makeFile("a", [1])
        var (places, contents) = (0, 0)
        for takesAll in [false, true] {
            while let commit = try device.vault.outgoing.collectChanges(
                as: device.participant, takesAll: takesAll, recorder: PlainRecorder())
            {
                for fact in commit.facts {
                    if case .place = fact.assertion { places += 1 }
                    if case .content = fact.assertion { contents += 1 }
                }
                #expect(places == contents)
            }
        }
        #expect(places == 1)
    }

    @Test func changesDuringACommitGoIntoTheNextOne() throws {
        let device = try ExchangeDevice.make(1)[0]
        let vault = device.vault
        let first = try vault.makeFile("a", [1])
        _ = try vault.makeFile("b", [2])
        try device.collect()
        try vault.put([3], to: first)
        _ = try vault.move("b", to: "c")
        let recorder = BusyRecorder {
            try vault.put([4, 4], to: first)
            try vault.remove("c")
            _ = try vault.makeFile("d", [5])
        }
        let made = try vault.outgoing.collectChanges(
            as: device.participant, takesAll: true, recorder: recorder)
        #expect(made?.facts.contains { $0.assertion.isName("c") } == true)
        #expect(recorder.result)
        #expect(try unsent(of: vault).contains(first))
        let found = try vault.outgoing.collectChanges(
            as: device.participant, takesAll: true, recorder: PlainRecorder())
        let next = try #require(found)
        #expect(next.facts.contains { $0.assertion.isName("d") })
        #expect(next.facts.contains { if case .content = $0.assertion { true } else { false } })
        #expect(!next.facts.contains { $0.assertion.isName("c") })
        try device.collect()
        #expect(try vault.files() == ["a": [4, 4], "d": [5]])
        let flaws = try device.flaws()
        #expect(flaws == [])
    }

    @Test func aFileThatIsBeingWrittenWaits() throws {
        let device = try ExchangeDevice.make(1)[0]
        let vault = device.vault
        let file = try vault.makeFile("a", [1])
        while try vault.outgoing.collectChanges(
            as: device.participant, takesAll: true, recorder: PlainRecorder())
            != nil
        {}
        try vault.put([2], to: file, at: 0)
        while try vault.outgoing.collectChanges(as: device.participant, recorder: PlainRecorder()) != nil {}
        #expect(try unsent(of: vault) == [file])
        #expect(
            try vault.outgoing.collectChanges(
                as: device.participant, takesAll: true, recorder: PlainRecorder()) != nil
        )
        #expect(try unsent(of: vault) == [])
    }

    @Test func contentChangedDuringTheReadIsNotSent() throws {
        /// Changes each file once while its content is read.
        struct Meddler: ContentPublishing {
            let isDone = Condition(false)
            func contents(of numbers: [Int64], in vault: Vault) throws(FileSystemError)
                -> [Int64: Fact.Content]
            {
                let contents = try InlineContents().contents(of: numbers, in: vault)
                let isFirst = isDone.withLock { done in
                    defer { done = true }
                    return !done
                }
                if isFirst {
                    try vault.contents.write(
                        ([9] as [UInt8]).span.bytes, to: numbers[0], at: 0, touches: true,
                        dropsPrivileges: false)
                }
                return contents
            }
            func prepare(_ content: Fact.Content, of item: ItemID, in vault: Vault) throws(FileSystemError) {}
            func begins(
                _ new: Fact.Content, with old: Fact.Content, at number: Int64?, in vault: Vault
            ) throws(FileSystemError) -> Bool { false }
            func placeArrived(in vault: Vault) throws(FileSystemError) {}
            func forgetPrepared() {}
            func apply(
                _ content: Fact.Content?, to file: ContentTarget, _ state: inout VaultState
            ) throws(FileSystemError) {}
            func move(
                _ content: Fact.Content, of file: ContentTarget, _ state: inout VaultState
            ) throws(FileSystemError) {}
        }
        let device = try ExchangeDevice.make(1)[0]
        var participant = device.participant
        participant.contents = Meddler()
        _ = try device.vault.makeFile("a", [1])
        var contents: [[UInt8]] = []
        while let commit = try device.vault.outgoing.collectChanges(
            as: participant, takesAll: true, recorder: PlainRecorder())
        {
            for fact in commit.facts {
                if case .content(_, let content?) = fact.assertion { contents.append(content.bytes) }
            }
        }
        #expect(contents == [[9]])
    }

    @Test func commitsAreKeptUntilTheyAreSent() throws {
        let device = try ExchangeDevice.make(1)[0]
        try device.vault.makeDirectory("d")
        try device.collect()
        let commits = try device.vault.keptCommits()
        #expect(commits.map(\.stamp.dot.sequence) == Array(1...UInt64(commits.count)))
        #expect(commits.first?.label == device.label)
        let rows = try device.vault.facts.keptRows()
        try device.vault.close()
        let again = try device.test.open()
        #expect(try again.facts.keptRows() == rows)
        try again.facts.keep(rows.map { KeptChange($0.key, nil) })
        #expect(try again.facts.keptRows() == [])
        let damage = try again.damage()
        #expect(damage == [])
    }

    @Test func aCommitThatIsNeededMayBeEmpty() throws {
        let device = try ExchangeDevice.make(1)[0]
        try device.collect()
        let before = try device.stateHash()
        let needed = PlainRecorder(isNeeded: true)
        for number in 1...2 as ClosedRange<UInt64> {
            let commit = try device.vault.outgoing.collectChanges(as: device.participant, recorder: needed)
            #expect(commit?.facts == [] && commit?.stamp.dot.sequence == number)
            #expect(commit?.label == (number == 1 ? device.label : nil))
        }
        #expect(try device.vault.facts.versions()[device.participant.log] == 2)
        #expect(try device.stateHash() == before)
        try device.vault.makeDirectory("d")
        let commit = try device.vault.outgoing.collectChanges(as: device.participant, recorder: needed)
        #expect(commit?.facts.isEmpty == false && commit?.stamp.dot.sequence == 3)
    }

    @Test func aRefusedCommitChangesNothing() throws {
        /// Refuses the commit before or after it is made.
        final class Refusing: CommitRecorder {
            let isNeeded = false, takesChanges = true, movesContents = true
            func check(_ versions: VersionVector) throws(SealingError) { throw .otherVersions }
            func record(_ commit: FactCommit, stateHash: StateHash) throws(SealingError) -> [KeptChange] {
                []
            }
        }
        let device = try ExchangeDevice.make(1)[0]
        _ = try device.vault.makeFile("a", [1])
        let error = #expect(throws: FileSystemError.self) {
            try device.vault.outgoing.collectChanges(
                as: device.participant, takesAll: true, recorder: Refusing())
        }
        guard case .notSealed(.otherVersions) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(device.vault.stoppedReason == nil)
        try device.collect()
        #expect(try device.vault.keptCommits().flatMap(\.facts).isEmpty == false)
        #expect(try device.flaws() == [])
    }
}

/// Does something with the vault while its commit is made.
private final class BusyRecorder: CommitRecorder {
    let isNeeded = false
    let takesChanges = true
    let movesContents = true
    private let body: () throws -> Void
    private(set) var result = false

    init(_ body: @escaping () throws -> Void) { self.body = body }

    func check(_ versions: VersionVector) throws(SealingError) {}

    func record(_ commit: FactCommit, stateHash: StateHash) throws(SealingError) -> [KeptChange] {
        do {
            try body()
            result = true
        } catch {}
        return []
    }
}

extension Fact.Assertion {
    /// Whether the fact gives something a name.
    fileprivate func isName(_ name: String) -> Bool {
        guard case .place(_, let placement) = self else { return false }
        return placement.place?.name.description == name
    }
}
