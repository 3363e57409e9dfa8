import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferStore
@testable import CofferVault

/// Rows that contradict each other, as after an older page of the index was put back: the damage is reported,
/// and never causes a trap, an endless walk, or the loss of another item.
@Suite struct OldPageTests {
    private let test: TestVault
    private let vault: Vault
    private let upper: Int64
    private let lower: Int64

    init() throws {
        test = try TestVault.create()
        vault = try test.open()
        upper = try vault.makeDirectory("upper")
        lower = try vault.makeDirectory("lower", in: upper)
    }

    private func edit(_ number: Int64, _ change: (inout ItemRow) -> Void) throws {
        try vault.state.withLock { state in
            let item = try state.tree.item(number)
            change(&item.row)
            state.tree.touch(item, [])
        }
    }

    @Test func aFileWithoutCountedNames() throws {
        for name in ["a", "b", "c"] { try edit(try vault.makeFile(name)) { $0.links = 0 } }
        #expect(fails("damaged") { try vault.remove("a") })
        _ = try vault.makeFile("d")
        #expect(fails("damaged") { _ = try vault.move("d", to: "b") })
        #expect(vault.stoppedReason == nil)
        #expect(try vault.names() == ["upper", "a", "b", "c", "d"])
    }

    @Test(arguments: [UInt32(1), 2]) func aDirectoryWithoutCountedDirectories(links: UInt32) throws {
        _ = try vault.makeDirectory("other", in: upper)
        try edit(upper) { $0.links = links }
        #expect(fails("damaged") { try vault.removeDirectory(Array("lower".utf8), in: upper) })
        #expect(fails("damaged") { _ = try vault.move("lower", in: upper, to: "other", into: upper) })
        #expect(fails("damaged") { _ = try vault.move("lower", in: upper, to: "lower") })
        _ = try vault.makeFile("file")
        #expect(
            fails("damaged") {
                _ = try vault.move("lower", in: upper, to: "file", mode: .exchange)
            })
        #expect(
            fails("damaged") {
                _ = try vault.move("file", to: "lower", into: upper, mode: .exchange)
            })
        #expect(vault.stoppedReason == nil)
        #expect(try vault.names(in: upper) == ["lower", "other"])
    }

    @Test(.timeLimit(.minutes(10))) func directoriesInACircle() throws {
        try edit(upper) { $0.parent = lower }
        _ = try vault.makeDirectory("moved")
        #expect(fails("damaged") { _ = try vault.move("moved", to: "moved", into: lower) })
        #expect(vault.stoppedReason == nil)
    }

    @Test(.timeLimit(.minutes(10))) func aCheckOfDirectoriesInACircleEnds() throws {
        try vault.state.withLock { state in
            try state.index.insert(
                EntryRow(
                    parent: lower, name: Array("loop".utf8), item: upper, type: FileType.directory.rawValue,
                    cookie: state.index.nextCookie()))
        }
        try vault.commit()
        #expect(try !vault.damage().isEmpty)
    }

    /// A counter that was set back yields a number in use: the other item stays.
    @Test func aNumberInUse() throws {
        let number = try vault.makeFile("a", [1, 2, 3])
        try vault.commit()
        vault.state.withLock { $0.index.counters.item = number }
        _ = try? vault.makeFile("b")
        #expect(throws: FileSystemError.self) { try vault.commit() }
        let again = try test.crashed(seed: 1).open()
        #expect(try again.content(of: try again.number(of: "a")) == [1, 2, 3])
        #expect(try again.damage() == [])
    }

    /// Damage that is found when the index is opened.
    @Test func aCounterThatWasSetBack() throws {
        for column in ["next_item", "next_pack"] {
            let test = try TestVault.create()
            do {
                let vault = try test.open()
                _ = try vault.makeFile("a", Pattern.make(2 << 20))
                try vault.commit()
                vault.state.withLock { state in
                    if column == "next_item" { state.index.counters.item = -65_536 }
                    if column == "next_pack" { state.index.counters.pack = 1 }
                }
                try vault.truncate(2, to: 3 << 20)
                try vault.commit()
            }
            #expect("\(column)") {
                _ = try test.open()
            } throws: {
                ($0 as? FileSystemError)?.summary == "the state row of the index is damaged"
            }
        }
    }
}
