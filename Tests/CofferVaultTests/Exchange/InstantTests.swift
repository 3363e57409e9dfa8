import CofferFacts
import CofferFormat
import CofferStore
import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferVault

/// Calls of programs at the moment when a change from elsewhere is applied.
@Suite struct InstantTests {
    private func pair() throws -> (ExchangeDevice, ExchangeDevice) {
        let devices = try ExchangeDevice.make(2)
        return (devices[0], devices[1])
    }

    private func expectSame(_ devices: [ExchangeDevice]) throws {
        try ExchangeDevice.meet(devices)
        for device in devices {
            #expect(try device.tree() == devices[0].tree())
            #expect(try device.flaws() == [])
        }
    }

    private func texts(_ device: ExchangeDevice) throws -> [String] {
        try device.names(in: "").map { try device.read($0) }.sorted()
    }

    /// A file with a conflict copy by rule, on two devices.
    private func withCopy(_ devices: [ExchangeDevice]) throws -> String {
        try devices[0].write("base", to: "f")
        try ExchangeDevice.meet(devices)
        try devices[0].write("from one", to: "f")
        try devices[1].write("from two", to: "f")
        try ExchangeDevice.meet([devices[0], devices[1]])
        return try #require(try devices[0].names(in: "").first { $0.contains("conflict") })
    }

    /// The removal of a copy by rule is a fact about the original file.
    @Test func writesToACopySurviveItsRemoval() throws {
        let (alice, bob) = try pair()
        let copy = try withCopy([alice, bob])
        try bob.write("mine", to: copy)
        try alice.remove(copy)
        try alice.collect()
        try alice.send()
        _ = try bob.fetch()
        #expect(try texts(bob).contains("mine"))
        try expectSame([alice, bob])
        #expect(try texts(alice).contains("mine"))
    }

    /// A copy by rule has the attributes of its item; a copy that was touched has its own.
    @Test func aStatedCopyLacksLaterChangesOfItsItem() throws {
        let devices = try ExchangeDevice.make(3)
        let (alice, bob, guest) = (devices[0], devices[1], devices[2])
        try alice.write("base", to: "f")
        try ExchangeDevice.meet(devices)
        try guest.setAttribute("user.color", to: "blue", of: "f")
        try guest.collect()
        try alice.write("from one", to: "f")
        try bob.write("from two", to: "f")
        try ExchangeDevice.meet([alice, bob])
        let copy = try #require(try alice.names(in: "").first { $0.contains("conflict") })
        try alice.move(copy, to: "mine")
        try alice.collect()
        try guest.send()
        while try bob.fetch() {}
        #expect(try bob.attribute("user.color", of: copy) == "blue")
        try alice.send()
        while try bob.fetch() {}
        #expect(try bob.attribute("user.color", of: "mine") == nil)
        #expect(try bob.flaws() == [])
        try expectSame(devices)
    }

    // MARK: Between two steps

    /// Applies facts, and runs `body` as programs would before the changes of names are made.
    private func apply(
        _ commits: [FactCommit], on device: ExchangeDevice, _ body: () throws -> Void
    ) throws {
        let update = RemoteUpdate(of: device.vault, by: nil, as: device.participant, isAlone: false)
        try device.vault.changing { state throws(FileSystemError) in
            var tree = try state.factTree(device.participant.hashKey)
            for commit in commits { _ = try tree.apply(commit) }
            for change in try tree.takeChanges(limit: 100) {
                update.pending[change.entry] = change
                if let place = change.before?.place { update.holders[place] = change.entry }
            }
            try update.sort(&state)
        }
        try body()
        try update.work()
        device.vault.facts.close()
    }

    private func commits(of device: ExchangeDevice, after count: Int) -> [FactCommit] {
        let all = device.hub.state.withLock { $0.commits[device.participant.log] ?? [] }
        return Array(all.dropFirst(count))
    }

    @Test func writesDuringARemovalStay() throws {
        let (alice, bob) = try pair()
        try alice.write("old", to: "f")
        try ExchangeDevice.meet([alice, bob])
        let before = commits(of: alice, after: 0).count
        try alice.remove("f")
        try alice.collect()
        try alice.send()
        try apply(commits(of: alice, after: before), on: bob) {
            try bob.vault.put(Array("new".utf8), to: bob.number("f"))
        }
        #expect(try bob.read("f") == "new")
        try expectSame([alice, bob])
        #expect(try alice.read("f") == "new")
    }

    // MARK: Programs that do not know yet

    /// Programs that have files open, and remember their lookups.
    private final class Programs: ChangeSink {
        let known: Condition<Set<Int64>>

        init(knowing items: [Int64]) { known = Condition(Set(items)) }

        func begin() {}
        func note(_ changes: [VaultChange], in vault: Vault) {}
        func end() {}
        func noteAtOnce(_ change: VaultChange, in vault: Vault) {}
        func knows(_ item: Int64) -> Bool { known.withLock { $0.contains(item) } }
        func flush(_ item: Int64) {}
        func awaitShown() {}
    }

    /// A file that is open on Bob's device, and that Alice changes.
    private func opened(
        _ change: (ExchangeDevice) throws -> Void
    ) throws -> (alice: ExchangeDevice, bob: ExchangeDevice, number: Int64) {
        let (alice, bob) = try pair()
        try alice.write("old", to: "f")
        try ExchangeDevice.meet([alice, bob])
        let number = try bob.number("f")
        bob.vault.setSink(Programs(knowing: [number]))
        try change(alice)
        try alice.collect()
        try alice.send()
        _ = try bob.fetch()
        return (alice, bob, number)
    }

    @Test func aWrittenFileRemovedElsewhereStays() throws {
        let (alice, bob, number) = try opened { try $0.remove("f") }
        #expect(try bob.names(in: "") == [])
        try bob.vault.put(Array("new".utf8), to: number)
        #expect(try bob.read("f") == "new")
        try expectSame([alice, bob])
        #expect(try alice.read("f") == "new")
    }

    @Test func aWrittenFileWhoseNameIsTakenStaysBeside() throws {
        let (alice, bob, number) = try opened {
            try $0.remove("f")
            try $0.collect()
            try $0.write("another", to: "f")
        }
        try bob.vault.put(Array("new".utf8), to: number)
        #expect(try bob.read("f") == "another")
        try expectSame([alice, bob])
        #expect(try texts(alice) == ["another", "new"])
    }

    /// A program removes a file, and the kernel does not know yet that Alice has changed it.
    @Test func anUnlinkRemovesNothingThatTheKernelDoesNotKnow() throws {
        let (alice, bob) = try withUnseen { try $0.write("new", to: "f") }
        try bob.vault.unlink(Array("f".utf8), in: Vault.rootNumber)
        try expectSame([alice, bob])
        #expect(try alice.read("f") == "new")
        // From now on, the kernel knows it.
        try bob.remove("f")
        try expectSame([alice, bob])
        #expect(try alice.names(in: "") == [])
    }

    /// A program saves by rename, and the kernel does not know yet that Alice has changed, or made, the file.
    @Test(arguments: [true, false]) func aRenameReplacesNothingThatTheKernelDoesNotKnow(isNew: Bool) throws {
        let name = isNew ? "g" : "f"
        let (alice, bob) = try withUnseen { try $0.write("new", to: name) }
        try bob.write("mine", to: "temporary")
        try bob.vault.rename(
            Array("temporary".utf8), in: Vault.rootNumber, to: Array(name.utf8), in: Vault.rootNumber,
            .replace)
        try expectSame([alice, bob])
        #expect(try alice.read(name) == "mine")
        #expect(try texts(alice) == (isNew ? ["mine", "new", "old"] : ["mine", "new"]))
    }

    /// A file "f" that Bob's kernel knows, before it knows of a change by Alice.
    private func withUnseen(_ change: (ExchangeDevice) throws -> Void) throws -> (
        ExchangeDevice, ExchangeDevice
    ) {
        let (alice, bob) = try pair()
        try alice.write("old", to: "f")
        try ExchangeDevice.meet([alice, bob])
        bob.vault.setSink(Programs(knowing: [Vault.rootNumber, try bob.number("f")]))
        try change(alice)
        try alice.collect()
        try alice.send()
        _ = try bob.fetch()
        return (alice, bob)
    }
}
