import CofferSystem
import Foundation
import Testing

@Suite struct ReadsInFlightTests {
    private static let pageCount = 100

    /// Records how a read ended.
    private final class Read: StartedRead {
        private(set) var results: [Int] = []
        func end(_ result: Int) { results.append(result) }
    }

    /// Runs the body with a file in which each page is full of its number, opened past the page cache, and reads
    /// of it; skips the test where the file system or the kernel cannot do that.
    private func withFile(_ body: (any StorageFile, ReadsInFlight) throws -> Void) throws {
        let path = NSTemporaryDirectory() + "/coffer-tests-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let directory = try POSIXStorageDirectory(path: path)
        let file = try directory.open("file", create: true)
        let bytes = (0..<Self.pageCount * 4_096).map { UInt8($0 / 4_096) }
        try unsafe file.write(bytes.span.bytes, at: 0)
        try file.dataSync()
        guard let direct = try directory.openDirect("file") else {
            try Test.cancel("the file system of \(path) has no O_DIRECT")
        }
        let flights = ReadsInFlight()
        guard start(Read(), flights, direct, page: 0) != nil else {
            try Test.cancel("this kernel starts no asynchronous reads")
        }
        #expect(flights.endNext(waits: true))
        try body(direct, flights)
    }

    private func start(
        _ read: Read, _ flights: ReadsInFlight, _ file: any StorageFile, page: Int, count: Int = 4_096
    ) -> AlignedBuffer? {
        let buffer = AlignedBuffer(count: count)
        let isStarted = file.start(read, in: flights, into: buffer, 0..<count, at: page * 4_096)
        return isStarted ? buffer : nil
    }

    private func isPage(_ page: Int, _ buffer: AlignedBuffer) -> Bool {
        buffer.withBytes(0..<4_096) { bytes in
            (0..<4_096).allSatisfy { bytes.byte(at: $0) == UInt8(page) }
        }
    }

    @Test func allReadsEndOnceWithTheirOwnBytes() throws {
        try withFile { file, flights in
            let pages = (0..<ReadsInFlight.countMax).map { $0 * 37 % Self.pageCount }
            let reads = try pages.map { page in
                let read = Read()
                return (page, read, try #require(start(read, flights, file, page: page)))
            }
            #expect(flights.count == ReadsInFlight.countMax)
            while flights.endNext(waits: true) {}
            #expect(flights.count == 0)
            for (page, read, buffer) in reads {
                #expect(read.results == [4_096])
                #expect(isPage(page, buffer))
            }
        }
    }

    @Test func theirNumberIsBounded() throws {
        try withFile { file, flights in
            for page in 0..<ReadsInFlight.countMax {
                _ = try #require(start(Read(), flights, file, page: page))
            }
            #expect(!flights.hasRoom)
            let late = Read()
            #expect(start(late, flights, file, page: 1) == nil)
            #expect(flights.endNext(waits: true))
            #expect(flights.hasRoom)
            let buffer = try #require(start(late, flights, file, page: 1))
            while flights.endNext(waits: true) {}
            #expect(late.results == [4_096])
            #expect(isPage(1, buffer))
        }
    }

    /// A short or failed read says so, and affects no other read.
    @Test func eachReadHasItsOwnResult() throws {
        try withFile { file, flights in
            let (whole, short, none, skewed) = (Read(), Read(), Read(), Read())
            let buffer = try #require(start(whole, flights, file, page: 5))
            _ = try #require(start(short, flights, file, page: Self.pageCount - 1, count: 8_192))
            _ = try #require(start(none, flights, file, page: Self.pageCount))
            let odd = AlignedBuffer(count: 4_096)
            let isStarted = file.start(skewed, in: flights, into: odd, 0..<4_096, at: 7)
            while flights.endNext(waits: true) {}
            #expect(whole.results == [4_096])
            #expect(isPage(5, buffer))
            #expect(short.results == [4_096])
            #expect(none.results == [0])
            // Some file systems accept any offset.
            let isRefused = skewed.results == [Int(-EINVAL)] || (skewed.results.isEmpty && !isStarted)
            #expect(isRefused || skewed.results == [4_096])
        }
    }

    @Test func theEndOfAReadCanBeAwaited() throws {
        try withFile { file, flights in
            let read = Read()
            flights.clearEvent()
            _ = try #require(start(read, flights, file, page: 9))
            var wanted = pollfd(fd: flights.event, events: Int16(POLLIN), revents: 0)
            #expect(poll(&wanted, 1, 60_000) == 1)
            #expect(flights.endNext())
            #expect(read.results == [4_096])
            flights.clearEvent()
            #expect(poll(&wanted, 1, 0) == 0)
        }
    }

    /// The kernel does not write to memory that was freed.
    @Test func droppedReadsHaveEnded() throws {
        try withFile { file, _ in
            for _ in 0..<20 {
                let flights = ReadsInFlight()
                for page in 0..<20 { _ = try #require(start(Read(), flights, file, page: page)) }
            }
        }
    }

    @Test func freshWritesAreCached() throws {
        let path = NSTemporaryDirectory() + "/coffer-tests-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try POSIXStorageDirectory(path: path).open("file", create: true)
        let bytes = [UInt8](repeating: 7, count: 10_000)
        try unsafe file.write(bytes.span.bytes, at: 0)
        var buffer = [UInt8](repeating: 0, count: 8_000)
        let isAtHand = buffer.withMutableRawSpan { file.isAtHand(&$0, at: 2_000) }
        #expect(isAtHand)
        // A kernel without such reads reports that everything is cached, and reads nothing.
        #expect(Set(buffer) == [7] || Set(buffer) == [0])
    }
}
