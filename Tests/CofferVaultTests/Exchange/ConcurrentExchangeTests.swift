import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferVault

/// Programs that continue while changes are sent and applied.
@Suite struct ConcurrentExchangeTests {
    @Test("Programs and exchanges do not disturb each other", arguments: [UInt64(1), 2])
    func programsAndExchangeRunConcurrently(seed: UInt64) throws {
        let devices = try ExchangeDevice.make(2)
        let failures = Condition([String]())
        for device in devices { try device.vault.start() }
        let threads = try (0..<4).map { number in
            let vault = devices[number % 2].vault
            return try Thread.start("program \(number)") {
                var program = RandomProgram(seed: seed &* 10 &+ UInt64(number), in: vault, mark: "\(number).")
                do {
                    for _ in 0..<150 { try program.act() }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        for step in 0..<20 {
            do {
                _ = try devices[step % 2].sync()
            } catch FileSystemError.busy {
                continue
            }
        }
        for thread in threads { thread.join() }
        #expect(failures.withLock { $0 } == [])
        try ExchangeDevice.meet(devices)
        #expect(try devices[0].tree() == devices[1].tree(), "seed \(seed)")
        for device in devices {
            let flaws = try device.flaws()
            #expect(flaws == [], "seed \(seed)")
            try device.vault.close()
        }
    }

    @Test("A commit that moves very many names is applied while programs work")
    func manyNames() throws {
        let devices = try ExchangeDevice.make(2)
        // Both make a directory of one name: the entries of one move into the other.
        try devices[0].makeDirectory("d")
        try devices[0].write("0", to: "d/same")
        try devices[1].makeDirectory("d")
        let directory = try devices[1].vault.number(of: "d")
        for number in 0..<2500 { _ = try devices[1].vault.makeFile("\(number)", in: directory) }
        _ = try devices[1].vault.makeDirectory("e", in: directory)
        try devices[1].write("1", to: "d/same")
        _ = try devices[0].sync()
        let isDone = Condition(false)
        let vault = devices[1].vault
        let failures = Condition([String]())
        let reader = try Thread.start("reader") {
            var count = 0
            while !isDone.withLock({ $0 }) {
                do {
                    count += 1
                    // It may be faster than the thread that makes commits of it.
                    if count <= 1000 { _ = try vault.makeFile("meanwhile \(count)") }
                    for entry in try vault.readDirectory(
                        Vault.rootNumber, after: 2, limit: 10, attributes: true)
                    where entry.attributes == nil {
                        failures.withLock { $0.append("a name without an item") }
                    }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        _ = try devices[1].sync()
        isDone.update { $0 = true }
        reader.join()
        #expect(failures.withLock { $0 } == [])
        try ExchangeDevice.meet(devices)
        #expect(try devices[0].tree() == devices[1].tree())
        #expect(try devices[0].tree().count > 2500)
        for device in devices {
            let flaws = try device.flaws()
            #expect(flaws == [])
        }
    }
}
