import CofferFormat
import CofferStore
import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferVault

/// Whose changes the history says what is.
@Suite struct AuthorTests {
    /// Two devices of two people; the first one keeps a history.
    private struct Pair {
        let alice: ReplicaDevice
        let bob: ReplicaDevice
        /// Bob's device, as Alice's history knows it.
        let him = History.Author.device(LogID(low: 2, high: 7))

        init() async throws {
            let world = try await ReplicaWorld.make()
            let devices = [try ReplicaDevice(0, in: world), try ReplicaDevice(1, in: world)]
            (alice, bob) = (devices[0], devices[1])
            try await onThread { [alice] in
                for name in ["f", "g"] { try alice.write("\(name) as it was", to: name) }
                try alice.makeDirectory("folder/")
                try alice.write("inner", to: "folder/inner")
                try alice.vault.history.set(.forever)
            }
            try await ReplicaDevice.meet(devices)
            try await onThread { [alice] in try alice.vault.history.keepPresent() }
        }

        /// Has somebody change something, and sync; what comes later belongs to another state.
        func stage(
            _ device: ReplicaDevice, _ body: @escaping @Sendable (ReplicaDevice) throws -> Void
        ) async throws {
            try await onThread { try body(device) }
            try await ReplicaDevice.meet([alice, bob])
            try await onThread { [alice] in try alice.vault.history.keepPresent() }
        }

        /// Who ended each state.
        func authors() async throws -> [Set<History.Author>] {
            try await onThread { [alice] in
                let authors = try alice.vault.history.authors()
                return try alice.vault.history.states().map { authors[$0.number] ?? [] }
            }
        }

        func expectWhole() async throws {
            try await onThread { [alice] in
                #expect(try alice.flaws() == [])
                let damage = try alice.vault.check { _, _ in }.damage
                #expect(damage.map(\.text) == [])
            }
        }
    }

    @Test(arguments: [false, true]) func statesNameWhoEndedThem(isInUse: Bool) async throws {
        let pair = try await Pair()
        // Programs that know a file get what others save as another item.
        if isInUse { pair.alice.vault.setSink(RecordedChanges()) }
        try await pair.stage(pair.bob) { try $0.write("his", to: "f") }
        try await pair.stage(pair.alice) { try $0.write("hers", to: "g") }
        try await pair.stage(pair.bob) { try $0.makeDirectory("his/") }
        try await pair.stage(pair.bob) { try $0.remove("folder/inner") }
        try await pair.stage(pair.alice) { try $0.move("f", to: "folder/f") }
        try await onThread {
            try pair.alice.write("hers", to: "new")
            try pair.bob.write("his", to: "g")
        }
        try await pair.stage(pair.bob) { _ in }
        let authors = try await pair.authors()
        #expect(
            authors == [
                [pair.him], [.thisDevice], [pair.him], [pair.him], [.thisDevice], [.thisDevice, pair.him],
            ])
        try await pair.expectWhole()
    }

    @Test(arguments: [false, true]) func versionsNameWhoMadeThem(isInUse: Bool) async throws {
        let pair = try await Pair()
        if isInUse { pair.alice.vault.setSink(RecordedChanges()) }
        let number = try await onThread { try pair.alice.number("folder/") }
        try await pair.stage(pair.alice) { try $0.setMode(0o700, of: "folder/") }
        try await pair.stage(pair.bob) { try $0.setMode(0o750, of: "folder/") }
        try await pair.stage(pair.bob) { try $0.write("his", to: "g") }
        try await pair.stage(pair.alice) { try $0.write("hers", to: "folder/new") }
        try await pair.stage(pair.bob) { try $0.write("his", to: "folder/his") }
        try await onThread {
            let history = pair.alice.vault.history
            let states = try history.states()
            let authors = try states.indices.map { place in
                let end = place + 1 < states.count ? states[place + 1] : nil
                return try history.authors(of: number, from: states[place], upTo: end)
            }
            #expect(authors == [[.thisDevice], [pair.him], [], [.thisDevice], [pair.him]])
            #expect(try history.authors(of: number, from: states[0], upTo: nil) == [.thisDevice, pair.him])
        }
        try await pair.expectWhole()
    }

    /// A file that others removed while a program had it open goes for good at some time; that is nobody's change.
    @Test func whatGoesForGoodIsNobodysChange() async throws {
        let pair = try await Pair()
        pair.alice.vault.setSink(RecordedChanges(releases: false))
        let number = try await onThread { try pair.alice.number("f") }
        try await pair.stage(pair.bob) { try $0.remove("f") }
        try await pair.stage(pair.alice) { $0.vault.release(number) }
        try await pair.stage(pair.bob) { try $0.write("his", to: "g") }
        let authors = try await pair.authors()
        #expect(authors.allSatisfy { $0.isSubset(of: [pair.him]) }, "\(authors)")
        try await pair.expectWhole()
    }

    @Test(arguments: [false, true]) func changesOfOneMinuteNameBoth(isHisFirst: Bool) async throws {
        let pair = try await Pair()
        let number = try await onThread { try pair.alice.number("f") }
        for isHis in [isHisFirst, !isHisFirst] {
            let device = isHis ? pair.bob : pair.alice
            try await onThread { try device.setMode(isHis ? 0o600 : 0o640, of: "f") }
            try await ReplicaDevice.meet([pair.alice, pair.bob])
        }
        #expect(try await pair.authors() == [[.thisDevice, pair.him]])
        try await onThread {
            let history = pair.alice.vault.history
            let first = try #require(try history.states().first)
            #expect(try history.authors(of: number, from: first, upTo: nil) == [.thisDevice, pair.him])
        }
        try await pair.expectWhole()
    }

    /// What was changed before, and is only in memory, is not the other's.
    @Test func whatIsNotStoredYetIsOwn() async throws {
        let pair = try await Pair()
        try await onThread {
            try pair.alice.setMode(0o600, of: "f")
            try pair.alice.vault.changing(as: pair.him) { _ throws(FileSystemError) in }
            try pair.alice.vault.history.keepPresent()
        }
        #expect(try await pair.authors() == [[.thisDevice]])
    }

    /// What one device does alone costs no rows.
    @Test func ownChangesHaveNoRows() async throws {
        let pair = try await Pair()
        try await pair.stage(pair.alice) {
            try $0.write("hers", to: "f")
            try $0.move("g", to: "folder/g")
            try $0.makeDirectory("new/")
        }
        try await onThread {
            let rows = try pair.alice.vault.reading { state throws(FileSystemError) in
                try state.index.authors(in: 0..<Int64.max, limit: 1)
            }
            #expect(rows.isEmpty)
        }
        #expect(try await pair.authors() == [[.thisDevice]])
    }

    /// Who changed what is known after the states in between have gone; nothing is left when no state is.
    @Test func authorsOutlastTheStates() async throws {
        let pair = try await Pair()
        try await pair.stage(pair.bob) { try $0.write("his", to: "f") }
        try await pair.stage(pair.alice) { try $0.write("hers", to: "f") }
        try await pair.stage(pair.bob) { try $0.write("his", to: "folder/inner") }
        try await onThread {
            let vault = pair.alice.vault
            let number = try pair.alice.number("f")
            let first = try #require(try vault.history.states().first)
            try vault.history.keep(only: [first.number])
            let authors = try vault.history.authors()
            #expect(authors[first.number] == [.thisDevice, pair.him])
            #expect(try vault.history.authors(of: number, from: first, upTo: nil) == [.thisDevice, pair.him])
        }
        try await pair.expectWhole()
        try await onThread {
            let vault = pair.alice.vault
            try vault.history.set(.none)
            try vault.history.keep(only: [])
            let rows = try vault.reading { state throws(FileSystemError) in
                try state.index.authors(in: 0..<Int64.max, limit: 1)
            }
            #expect(rows.isEmpty)
        }
    }
}
