import CofferFacts
import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferVault

/// Files that others append to while programs may have them open.
@Suite struct GrowthTests {
    private struct Pair {
        let alice: ExchangeDevice, bob: ExchangeDevice
        let shown: RecordedChanges
        let number: Int64

        /// Two devices with a file that programs watch on Bob's.
        init(_ text: String, isInUse: Bool = true) throws {
            let devices = try ExchangeDevice.make(2)
            alice = devices[0]
            bob = devices[1]
            try alice.write(text, to: "log")
            try ExchangeDevice.meet(devices)
            shown = RecordedChanges(isInUse: isInUse)
            bob.vault.setSink(shown)
            number = try bob.vault.number(of: "log")
        }

        /// The growth, and the size from which it began.
        var growths: [Int64] {
            shown.take().compactMap { change in
                if case .growth(number, let size, .init(Array("log".utf8), in: Vault.rootNumber)) = change {
                    size
                } else {
                    nil
                }
            }
        }

        func meet() throws { try ExchangeDevice.meet([alice, bob]) }

        func expectSound() throws {
            let flaws = try alice.flaws() + bob.flaws()
            #expect(flaws == [])
            let isSame = try alice.stateHash() == bob.stateHash()
            #expect(isSame)
            // This device does not send changes that came from elsewhere.
            let said = bob.hub.state.withLock { $0.commits[bob.participant.log]?.flatMap(\.facts) ?? [] }
            #expect(said.isEmpty)
        }
    }

    @Test(arguments: ["", "one\n"])
    func whatIsOnlyAddedToStaysTheFile(text: String) throws {
        let pair = try Pair(text)
        try pair.alice.write(text + "two\n", to: "log")
        try pair.meet()
        #expect(try pair.bob.vault.number(of: "log") == pair.number)
        #expect(try pair.bob.read("log") == text + "two\n")
        #expect(pair.growths == [Int64(text.utf8.count)])
        try pair.expectSound()
    }

    /// Commits that arrive together: each one appends to the result of the previous one.
    @Test func severalAtOnce() throws {
        let pair = try Pair("1")
        for text in ["12", "123", "1234"] { try pair.alice.write(text, to: "log") }
        try pair.meet()
        #expect(try pair.bob.vault.number(of: "log") == pair.number)
        #expect(try pair.bob.read("log") == "1234")
        #expect(pair.growths == [1, 1, 1])
        try pair.expectSound()
    }

    @Test(arguments: ["one", "one\n", "", "two", "three\nfour\n"])
    func anythingElseIsANewFile(text: String) throws {
        let pair = try Pair("one\n.")
        try pair.alice.write(text, to: "log")
        try pair.meet()
        #expect(try pair.bob.vault.number(of: "log") != pair.number)
        #expect(try pair.bob.read("log") == text)
        #expect(pair.growths == [])
        try pair.expectSound()
    }

    /// A file that is rewritten after it grew, in commits that arrive together.
    @Test func growthAndReplacementAtOnce() throws {
        let pair = try Pair("one")
        try pair.alice.write("one, two", to: "log")
        try pair.alice.write("three", to: "log")
        try pair.meet()
        #expect(try pair.bob.vault.number(of: "log") != pair.number)
        #expect(try pair.bob.read("log") == "three")
        #expect(pair.growths == [3])
        try pair.expectSound()
    }

    @Test func aClosedFileIsANewFile() throws {
        let pair = try Pair("one", isInUse: false)
        try pair.alice.write("one, two", to: "log")
        try pair.meet()
        #expect(try pair.bob.vault.number(of: "log") != pair.number)
        #expect(pair.growths == [])
        try pair.expectSound()
    }

    /// Unsent or concurrent local writes are no prefix of incoming content.
    @Test(arguments: [false, true])
    func concurrentAppendsConflict(isSent: Bool) throws {
        let pair = try Pair("one")
        try pair.bob.vault.put(Array("!".utf8), to: pair.number, at: 3)
        if isSent { try pair.bob.collect() }
        try pair.alice.write("one, two", to: "log")
        try pair.meet()
        #expect(pair.growths == [])
        let contents = try pair.bob.names(in: "").map { try pair.bob.read($0) }
        #expect(contents.sorted() == ["one!", "one, two"])
        let flaws = try pair.alice.flaws() + pair.bob.flaws()
        #expect(flaws == [])
    }

    /// A program that has just appended may do so again: then both would write at the old end.
    @Test func aFileThatAProgramHereAppendedToIsANewFile() throws {
        let pair = try Pair("one")
        try pair.bob.vault.put(Array("!".utf8), to: pair.number, at: 3)
        try pair.meet()
        try pair.alice.write("one!, two", to: "log")
        try pair.meet()
        #expect(try pair.bob.vault.number(of: "log") != pair.number)
        #expect(try pair.bob.read("log") == "one!, two")
        #expect(pair.growths == [])
        let flaws = try pair.alice.flaws() + pair.bob.flaws()
        #expect(flaws == [])
    }

    @Test func whatAProgramAppendsAwareIsInTheFile() throws {
        let pair = try Pair("one\n")
        try pair.alice.write("one\nhers\n", to: "log")
        try pair.meet()
        pair.bob.vault.endGrowth(of: pair.number, at: 9)
        try pair.bob.vault.put(Array("his\n".utf8), to: pair.number, at: 9)
        try pair.meet()
        #expect(try pair.alice.names(in: "") == ["log"])
        #expect(try pair.alice.read("log") == "one\nhers\nhis\n")
    }

    /// A program that removes or replaces a file cannot mean what the kernel does not show yet.
    @Test(arguments: [true, false]) func whatWasAppendedUnseenIsNotRemoved(isReplaced: Bool) throws {
        let pair = try Pair("")
        try pair.alice.write("hers\n", to: "log")
        try pair.alice.collect()
        try pair.alice.send()
        _ = try pair.bob.fetch()
        let (name, root) = (Array("log".utf8), Vault.rootNumber)
        if isReplaced {
            try pair.bob.write("his\n", to: "new")
            try pair.bob.vault.rename(Array("new".utf8), in: root, to: name, in: root, .replace)
        } else {
            try pair.bob.vault.unlink(name, in: root)
        }
        try pair.meet()
        let texts = try pair.alice.names(in: "").map { try pair.alice.read($0) }.sorted()
        #expect(texts == (isReplaced ? ["hers\n", "his\n"] : ["hers\n"]))
        pair.bob.vault.endGrowth(of: pair.number, at: nil)
        if !isReplaced {
            try pair.bob.vault.unlink(name, in: root)
            try pair.meet()
            #expect(try pair.alice.names(in: "") == [])
        }
    }
}
