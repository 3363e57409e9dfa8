import CofferFormat
import CofferStore
import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferVault

/// A check of a shared vault compares its tree with the facts, and is not misled by concurrent changes.
@Suite struct FactComparisonTests {
    @Test func differencesAreReported() throws {
        let device = try ExchangeDevice.make(1)[0]
        _ = try device.vault.makeDirectory("other")
        #expect(
            try device.vault.facts.comparisonWithFacts(device.participant.hashKey) == nil, "not collected")
        try device.makeDirectory("d")
        try device.write("1", to: "d/file")
        #expect(try device.vault.facts.comparisonWithFacts(device.participant.hashKey) == [])
        let number = try device.vault.number(of: "file", in: try device.vault.number(of: "d"))
        try device.vault.changing { state throws(FileSystemError) in
            let item = try state.tree.item(number)
            item.row.mode ^= 0o100
            state.tree.touch(item, [])
        }
        let differences = try device.vault.facts.comparisonWithFacts(device.participant.hashKey)
        #expect(differences == ["The mode of item \(number) differs."])
        try device.vault.close()
    }

    /// Access control lists stay on the device, but the mode that they determine is sent.
    @Test func theModeOfAListIsSent() throws {
        let device = try ExchangeDevice.make(1)[0]
        try device.write("1", to: "file")
        #expect(try device.vault.facts.comparisonWithFacts(device.participant.hashKey) == [])
        let number = try device.vault.number(of: "file")
        let entries: [(AccessList.Tag, UInt16)] = [
            (.owner, 6), (.user, 6), (.group, 4), (.mask, 6), (.other, 4),
        ]
        var writer = ByteWriter(capacity: 4 + 8 * entries.count)
        writer.number(UInt32(2))
        for (tag, permissions) in entries {
            writer.number(tag.rawValue)
            writer.number(permissions)
            writer.number(tag == .user ? 1001 : UInt32.max)
        }
        try device.vault.setExtendedAttribute(
            ExtendedAttributeName.accessList, of: number, to: writer.finish(), .any)
        try device.collect()
        #expect(try device.vault.attributes(of: number).mode & 0o777 == 0o664)
        #expect(try device.vault.facts.comparisonWithFacts(device.participant.hashKey) == [])
        try device.vault.close()
    }

    @Test func aVaultWithoutFacts() throws {
        let vault = try TestVault.create().open()
        let key = try ExchangeDevice.make(1)[0].participant.hashKey
        #expect(try vault.facts.comparisonWithFacts(key) == nil)
        try vault.close()
    }

    /// Concurrent work is not mistaken for damage.
    @Test(arguments: [UInt64(1), 2]) func otherReadersWorkMeanwhile(seed: UInt64) throws {
        let device = try ExchangeDevice.make(1)[0]
        try device.vault.start()
        let failures = Condition([String]())
        let vault = device.vault
        let threads = try (0..<2).map { number in
            try Thread.start("program \(number)") {
                var program = RandomProgram(seed: seed &* 10 &+ UInt64(number), in: vault, mark: "\(number).")
                do {
                    for _ in 0..<200 { try program.act() }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        for _ in 0..<20 {
            try device.collect()
            let differences = try vault.facts.comparisonWithFacts(device.participant.hashKey)
            #expect(differences == nil || differences == [], "seed \(seed)")
        }
        for thread in threads { thread.join() }
        #expect(failures.withLock { $0 } == [])
        try device.collect()
        #expect(try vault.facts.comparisonWithFacts(device.participant.hashKey) == [], "seed \(seed)")
        try vault.close()
    }
}
