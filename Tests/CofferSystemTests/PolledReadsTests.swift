import CofferSystem
import Foundation
import Testing

@Suite struct PolledReadsTests {
    private static let pages: [UInt8] = (0..<3 * 4_096).map { UInt8(truncatingIfNeeded: $0 / 4_096 + $0) }

    /// Runs the body with a file of three pages that is read past the page cache; skips the test where the file
    /// system cannot do that.
    private func withFile(_ body: (any StorageFile) throws -> Void) throws {
        let path = NSTemporaryDirectory() + "/coffer-tests-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let directory = try POSIXStorageDirectory(path: path)
        let file = try directory.open("file", create: true)
        try unsafe file.write(Self.pages.span.bytes, at: 0)
        try file.dataSync()
        guard let direct = try directory.openDirect("file") else {
            try Test.cancel("the file system of \(path) has no O_DIRECT")
        }
        try body(direct)
    }

    private func read(
        _ file: any StorageFile, _ reads: PolledReads, at offset: Int, count: Int, meanwhile: () -> Void = {}
    ) throws -> [UInt8] {
        let buffer = AlignedBuffer(count: count)
        let got = try buffer.withMutableBytes(0..<count) { bytes throws(SystemError) in
            try file.read(into: &bytes, at: offset, polling: reads, meanwhile: meanwhile)
        }
        return buffer.withBytes(0..<got) { bytes in (0..<got).map { bytes.byte(at: $0) } }
    }

    @Test func readsTheContent() throws {
        try withFile { file in
            let reads = PolledReads()
            for page in 0..<3 {
                let bytes = try read(file, reads, at: page * 4_096, count: 4_096)
                #expect(bytes == Array(Self.pages[page * 4_096..<(page + 1) * 4_096]))
            }
        }
    }

    @Test func readsEndWhereTheFileEnds() throws {
        try withFile { file in
            let last = try read(file, PolledReads(), at: 8_192, count: 8_192)
            #expect(last == Array(Self.pages[8_192...]))
            let none = try read(file, PolledReads(), at: 12_288, count: 4_096)
            #expect(none.isEmpty)
        }
    }

    @Test func otherWorkIsDoneOnce() throws {
        try withFile { file in
            var count = 0
            _ = try read(file, PolledReads(), at: 0, count: 4_096) { count += 1 }
            #expect(count == 1)
        }
    }

    @Test func unalignedReadsAreRefused() throws {
        try withFile { file in
            var count = 0
            #expect(throws: SystemError.self) {
                try read(file, PolledReads(), at: 7, count: 4_096) { count += 1 }
            }
            #expect(count == 1)
            let page = try read(file, PolledReads(), at: 0, count: 4_096)
            #expect(page.count == 4_096)
        }
    }
}
