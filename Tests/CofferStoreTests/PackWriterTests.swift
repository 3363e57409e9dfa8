import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferStore

/// Large extents on their way to the disk.
@Suite struct PackWriterTests {
    private let directory = SimulatedStorageDirectory()
    private let writer = PackWriter()

    private func file(_ name: String) throws -> PackFile {
        PackFile(try directory.open(name, create: true), named: name, in: directory)
    }

    private static func isNoSpace(_ body: () throws -> Void) -> Bool {
        do {
            try body()
            return false
        } catch {
            guard case FileSystemError.noSpace = error else { return false }
            return true
        }
    }

    /// Hands an extent over; its bytes are all the same.
    private func write(
        _ byte: UInt8, count: Int = 300_000, to file: PackFile, pack: Int64 = 1, at position: Int
    ) throws {
        let buffer = try writer.takeBuffer()
        buffer.copy([UInt8](repeating: byte, count: count).span.bytes, to: 0)
        writer.write(buffer, count: count, live: Int64(count), to: file, pack: pack, at: position)
    }

    /// Returns once a condition holds; gives up after half a minute.
    private func comes(_ state: Condition<Bool>) -> Bool {
        state.wait(nanoseconds: 30_000_000_000) { $0 ? true : nil } ?? false
    }

    /// Each thread writes and reads its own extents; one thread finishes repeatedly.
    @Test func severalThreadsWriteAndReadAndFinish() throws {
        let pack = try file("pack")
        let slot = 256 << 10
        let failures = Condition([String]())
        let isOver = Condition(false)
        let threads = try (0..<3).map { thread in
            try Thread.start("writer \(thread)") { [writer] in
                var random = SplitMix64(seed: UInt64(thread))
                for step in 0..<25 {
                    let number = thread * 25 + step
                    let bytes = random.bytes(1000 + random.below(slot - 1000))
                    do {
                        let buffer = try writer.takeBuffer()
                        if random.oneIn(8) {
                            writer.giveBack(buffer)
                            continue
                        }
                        buffer.copy(bytes.span.bytes, to: 0)
                        writer.write(
                            buffer, count: bytes.count, live: 1, to: pack, pack: 1, at: number * slot)
                        let found = writer.bytes(1, at: number * slot, count: bytes.count)
                        if let found, found != bytes { failures.withLock { $0.append("read \(number)") } }
                        if random.oneIn(5) { try writer.finish() }
                        if random.oneIn(5) || step == 24 {
                            try writer.finish()
                            var read = [UInt8](repeating: 0, count: bytes.count)
                            let count = try read.withMutableRawSpan { span throws(FileSystemError) in
                                try pack.read(into: &span, at: number * slot)
                            }
                            if count != bytes.count || read != bytes {
                                failures.withLock { $0.append("file \(number)") }
                            }
                        }
                    } catch {
                        failures.withLock { $0.append("\(error)") }
                    }
                }
            }
        }
        let finisher = try Thread.start("finisher") { [writer] in
            while isOver.wait(nanoseconds: 2_000_000, for: { $0 ? true : nil }) == nil {
                try? writer.finish()
            }
        }
        for thread in threads { thread.join() }
        isOver.update { $0 = true }
        finisher.join()
        #expect(failures.withLock { $0 } == [])
        writer.stop()
        // It continues even without its threads.
        for number in 0..<10 { try write(3, to: pack, at: number << 20) }
        try writer.finish()
        #expect(directory.bytes(of: "pack")[9 << 20..<(9 << 20) + 300_000].allSatisfy { $0 == 3 })
    }

    /// An endless writer must not block the fsync of others.
    @Test func finishDoesNotWaitForLaterWrites() throws {
        let (early, late) = (try file("early"), try file("late"))
        let gates = Condition(Set<String>(["early", "late"]))
        let reached = Condition(Set<String>())
        directory.observe { call, path in
            guard call == .write else { return }
            reached.update { _ = $0.insert(path) }
            _ = gates.wait { $0.contains(path) ? nil : true }
        }
        try write(1, to: early, at: 0)
        _ = reached.wait { $0.contains("early") ? true : nil }
        let isDone = Condition(false)
        let thread = try Thread.start("finish") { [writer] in
            try? writer.finish()
            isDone.update { $0 = true }
        }
        // Time for it to check; if it checks later, the test is weaker, and passes.
        _ = isDone.wait(nanoseconds: 300_000_000) { $0 ? true : nil }
        #expect(!isDone.withLock { $0 })
        try write(2, to: late, pack: 2, at: 0)
        _ = reached.wait { $0.contains("late") ? true : nil }
        gates.update { _ = $0.remove("early") }
        #expect(comes(isDone), "finish waits for an extent that was handed over after it began")
        gates.update { $0 = [] }
        thread.join()
        directory.observe(nil)
        writer.stop()
    }

    @Test func aFullDiskKeepsExtentsAndTakesThemLater() throws {
        let pack = try file("pack")
        // Like the pack that collects small extents.
        let held = try writer.takeBuffer()
        directory.fail(StorageFault([.write], path: "pack", code: ErrorNumber.noSpace, lasts: true))
        for number in 0..<PackWriter.slotCount - 1 {
            try write(UInt8(number + 1), to: pack, at: number << 20)
        }
        #expect(Self.isNoSpace { _ = try writer.takeBuffer() }, "no buffer is left, and none will be")
        for _ in 0..<3 { #expect(Self.isNoSpace { try writer.finish() }) }
        #expect(writer.bytes(1, at: 2 << 20, count: 300_000) == [UInt8](repeating: 3, count: 300_000))
        #expect(writer.takeWritten().isEmpty)
        directory.heal()
        try writer.finish()
        #expect(writer.takeWritten()[1]?.extentCount == PackWriter.slotCount - 1)
        #expect(writer.bytes(1, at: 2 << 20, count: 1) == nil)
        #expect(directory.bytes(of: "pack")[2 << 20] == 3)
        writer.giveBack(try writer.takeBuffer())
        writer.giveBack(held)
        writer.stop()
    }

    /// Files are removed range by range, at any time.
    @Test func unreferencedExtentsNeedNoRoom() throws {
        let pack = try file("pack")
        // Like the pack that collects small extents.
        let held = try writer.takeBuffer()
        directory.fail(StorageFault([.write], path: "pack", code: ErrorNumber.noSpace, lasts: true))
        for number in 0..<PackWriter.slotCount - 1 { try write(1, to: pack, at: number << 20) }
        #expect(Self.isNoSpace { try writer.finish() })
        for number in 0..<PackWriter.slotCount - 1 {
            writer.drop(1, at: number << 20, 100_000)
            #expect(Self.isNoSpace { try writer.finish() })
            writer.drop(1, at: number << 20, 200_000)
        }
        try writer.finish()
        #expect(writer.takeWritten()[1]?.extentCount == PackWriter.slotCount - 1)
        for _ in 0..<4 { writer.giveBack(try writer.takeBuffer()) }
        writer.giveBack(held)
        writer.stop()
    }

    /// An extent that is abandoned during its write to a full disk.
    @Test func extentsAbandonedDuringTheirWriteDoNotStay() throws {
        let pack = try file("pack")
        let isReached = Condition(false), isOpen = Condition(false)
        directory.observe { call, _ in
            guard call == .write else { return }
            isReached.update { $0 = true }
            _ = isOpen.wait { $0 ? true : nil }
        }
        directory.fail(StorageFault([.write], path: "pack", code: ErrorNumber.noSpace, lasts: true))
        try write(1, to: pack, at: 0)
        #expect(comes(isReached))
        writer.drop(1, at: 0, 300_000)
        isOpen.update { $0 = true }
        try writer.finish()
        #expect(writer.takeWritten()[1]?.extentCount == 1)
        directory.observe(nil)
        writer.stop()
    }

    @Test func otherErrorsReachEverybody() throws {
        let pack = try file("pack")
        directory.fail(StorageFault([.write], path: "pack", code: ErrorNumber.inputOutput))
        try write(1, to: pack, at: 0)
        #expect(throws: FileSystemError.self) { try writer.finish() }
        #expect(throws: FileSystemError.self) { try writer.finish() }
        #expect(throws: FileSystemError.self) { _ = try writer.takeBuffer() }
        writer.stop()
    }

    /// A file system that opens files for direct writes, and then rejects their alignment.
    @Test(arguments: [true, false])
    func aFileSystemWithoutDirectWritesIsWrittenTheUsualWay(opens: Bool) throws {
        let pack = try file("pack")
        let invalidArgument: Int32 = 22
        directory.fail(StorageFault([opens ? .write : .openDirect], code: invalidArgument))
        for number in 0..<3 { try write(UInt8(number + 1), to: pack, at: number << 20) }
        try writer.finish()
        #expect(directory.bytes(of: "pack")[0] == 1 && directory.bytes(of: "pack")[2 << 20] == 3)
        writer.stop()
    }
}
