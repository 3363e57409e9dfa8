import Foundation
import Testing

@testable import CofferSystem

/// Streams end with whoever waits for them.
@Suite struct AwaitedStreamTests {
    private final class Pipe {
        var ends: [Int32] = [0, 0]

        init() throws { try #require(pipe(&ends) == 0) }

        func close(_ end: Int) {
            if ends[end] >= 0 { Glibc.close(ends[end]) }
            ends[end] = -1
        }

        deinit {
            close(0)
            close(1)
        }
    }

    private func read(_ count: Int, from descriptor: Int32, isAwaited: () -> Bool = { true }) throws
        -> [UInt8]
    {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = try bytes.withMutableRawSpan { (span: inout MutableRawSpan) throws(SystemError) in
            try AwaitedStream.read(descriptor, into: &span, subject: "pipe", isAwaited: isAwaited)
        }
        return Array(bytes.prefix(got))
    }

    private func write(_ bytes: [UInt8], to descriptor: Int32, isAwaited: () -> Bool = { true }) throws {
        try AwaitedStream.write(bytes.span.bytes, to: descriptor, subject: "pipe", isAwaited: isAwaited)
    }

    @Test func theEndOfAPipe() throws {
        let pipe = try Pipe()
        try write([1, 2, 3], to: pipe.ends[1])
        pipe.close(1)
        #expect(try read(2, from: pipe.ends[0]) == [1, 2])
        #expect(try read(2, from: pipe.ends[0]) == [3])
        #expect(try read(2, from: pipe.ends[0]) == [])
    }

    @Test func nobodyWaits() throws {
        let pipe = try Pipe()
        var asked = 0
        func isAwaited() -> Bool {
            asked += 1
            return asked < 3
        }
        #expect(throws: SystemError("poll", code: ECANCELED, on: "pipe")) {
            try read(2, from: pipe.ends[0], isAwaited: isAwaited)
        }
        asked = 0
        // More than a pipe takes.
        #expect(throws: SystemError("poll", code: ECANCELED, on: "pipe")) {
            try write([UInt8](repeating: 1, count: 4 << 20), to: pipe.ends[1], isAwaited: isAwaited)
        }
        #expect(asked == 3)
        pipe.close(0)
        #expect(throws: SystemError("write", code: EPIPE, on: "pipe")) { try write([1], to: pipe.ends[1]) }
    }
}
