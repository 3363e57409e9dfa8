import CofferRemote
import CofferSystem
import CofferTestSupport
import RemoteConformance
import Testing

import CofferClient
@testable import CofferVault

/// Contents whose pages arrive after their files have lost their names.
@Suite struct LatePastTests {
    /// A program removes or replaces a file, and still has it open when that is sent.
    @Test(arguments: [false, true]) func whatAProgramRemovedArrives(isReplaced: Bool) async throws {
        let remote = MemoryRemote()
        let world = try await ReplicaWorld.make(remote)
        let connection = HidingRemote(remote)
        let alice = try ReplicaDevice(0, in: world)
        let bob = try ReplicaDevice(1, in: world.at(connection))
        try await ReplicaDevice.meet([alice, bob])
        let expected = try await onThread {
            try bob.vault.history.set(.forever)
            // More ranges than fit into a content value.
            try alice.write("", to: "file")
            for piece in 0..<12 {
                try alice.put(Array("piece \(piece)".utf8), to: "file", at: Int64(piece) * 65_536)
                try alice.vault.commit()
            }
            return try alice.bytes("file")
        }
        while try await alice.round() {}
        connection.hide(allBut: [])
        while try await bob.round() {}
        let (number, time) = try await onThread {
            try bob.vault.history.keepPresent()
            let place = (try bob.number("file"), Clock.realTime)
            let name = Array("file".utf8)
            if isReplaced {
                try bob.write("new", to: "new")
                let replaced = try bob.vault.rename(
                    Array("new".utf8), in: Vault.rootNumber, to: name, in: Vault.rootNumber, .replace)
                #expect(replaced == place.0)
            } else {
                #expect(try bob.vault.unlink(name, in: Vault.rootNumber).isLast)
            }
            return place
        }
        while try await bob.round() {}
        connection.hide(allBut: nil)
        // What has not arrived is looked for after a pause.
        let end = ContinuousClock.now + .seconds(60)
        func isThere() async throws -> Bool {
            try await onThread { (try? Self.read(number, count: expected.count, in: bob.vault)) == expected }
        }
        while try await !isThere(), ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(500))
            try await bob.replica.placeArrivedContents()
        }
        #expect(try await isThere())
        try await onThread {
            bob.vault.release(number)
            let view = try #require(try bob.vault.history.view(at: time))
            defer { view.close() }
            let buffer = AlignedBuffer(count: expected.count)
            #expect(try view.read(number, at: 0, count: expected.count, into: buffer) == expected.count)
            let isSame = buffer.withBytes(0..<expected.count) { haveSameBytes($0.array, expected) }
            #expect(isSame)
            #expect(try bob.flaws() == [])
        }
    }

    /// The content of an item that a program has open.
    private static func read(_ number: Int64, count: Int, in vault: Vault) throws -> [UInt8] {
        let buffer = AlignedBuffer(count: count)
        let got = try vault.contents.read(number, at: 0, count: count, into: buffer)
        return buffer.withBytes(0..<got) { $0.array }
    }
}
