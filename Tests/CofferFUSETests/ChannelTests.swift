import CofferFormat
import CofferSystem
import Glibc
import Testing

@testable import CofferFUSE

/// The end of a connection that another process goes on to serve.
@Suite struct ChannelTests {
    /// A mount that is left to the next process.
    private struct Left: @unchecked Sendable {
        // SAFETY: one thread reads; any thread may write answers and call `leave`.
        let channel: Channel
        let requests: (reading: Int32, writing: Int32)
        let answers: (reading: Int32, writing: Int32)

        init() throws {
            channel = try Channel(ReadsInFlight(), Gate(LockedAnswers(user: 0, group: 0, changed: 0), nil))
            (requests, answers) = (try ChildProcess.makePipe(), try ChildProcess.makePipe())
            _ = fcntl(requests.reading, F_SETFL, O_NONBLOCK)
        }

        func end() { for end in [requests.0, requests.1, answers.0, answers.1] { close(end) } }

        private func header(_ words: [UInt32], count: Int) -> [UInt8] {
            var writer = ByteWriter()
            for word in words { writer.number(word) }
            return writer.finish() + [UInt8](repeating: 0, count: count - 4 * words.count)
        }

        /// Sends a request as the kernel does.
        ///
        /// - Parameters:
        ///   - fields: Which attributes are set, of a request to set some.
        ///   - flags: Of a write.
        func asks(_ kind: UInt32, unique: UInt32, fields: UInt32 = 0, flags: UInt32 = 0) {
            let bytes = header(
                [64, kind, unique, 0, 0, 0, 0, 0, 0, 0, fields, 0, 0, 0, 0, flags], count: 64)
            #expect(write(requests.writing, bytes, 64) == 64)
        }

        func reads() -> Int {
            var buffer = [UInt8](repeating: 0, count: 4096)
            return buffer.withUnsafeMutableBytes { buffer in
                buffer.baseAddress.map { channel.read(requests.reading, $0, buffer.count) } ?? 0
            }
        }

        func answers(unique: UInt32) {
            var bytes = header([16, 0, unique], count: 16)
            bytes.withUnsafeMutableBytes { buffer in
                var part = iovec(iov_base: buffer.baseAddress, iov_len: 16)
                #expect(channel.write(answers.writing, &part, 1) == 16)
            }
        }
    }

    /// What the kernel has sent, and what it holds back until an answer, may be pages that programs wrote.
    @Test func leavingReadsOnUntilAllIsAnswered() throws {
        let left = try Left()
        defer { left.end() }
        // FUSE_INIT, whose answer is kept.
        left.asks(26, unique: 2)
        #expect(left.reads() == 64)
        left.answers(unique: 2)
        left.asks(16, unique: 4)
        left.channel.leave()
        #expect(left.reads() == 64)
        let result = Condition<Int?>(nil)
        try CofferSystem.Thread.startDetached("reads") {
            // What follows the answer is read, too.
            let counts = [left.reads(), left.reads()]
            result.update { $0 = counts == [64, -1] ? 1 : 0 }
        }
        let early = result.wait(nanoseconds: 200_000_000) { $0 }
        #expect(early == nil, "a request is unanswered")
        // A notification, and a late interruption, are no answers.
        left.answers(unique: 0)
        left.answers(unique: 5)
        left.asks(2, unique: 6)
        left.answers(unique: 4)
        let isRight = result.wait(nanoseconds: 90_000_000_000) { $0 }
        #expect(isRight == 1)
    }

    /// libfuse must choose the features that the kernel uses already; the kernel gets no second answer.
    @Test(arguments: [true, false])
    func anotherAnswerIsNoticed(isSame: Bool) throws {
        let (first, next) = (try Left(), try Left())
        defer {
            first.end()
            next.end()
        }
        first.asks(26, unique: 2)
        #expect(first.reads() == 64)
        first.answers(unique: 2)
        var state = first.channel.initialisation
        #expect(state.request.count == 64 && state.answer.count == 16)
        if !isSame { state.answer[4] ^= 1 }
        next.channel.resume(after: state)
        #expect(!next.channel.hasResumed)
        #expect(next.reads() == 64)
        next.answers(unique: 2)
        #expect(next.channel.hasResumed == isSame)
        var byte: UInt8 = 0
        _ = fcntl(next.answers.reading, F_SETFL, O_NONBLOCK)
        #expect(read(next.answers.reading, &byte, 1) == -1 && errno == EAGAIN)
    }

    /// Pages, and times that the kernel keeps, are what it may still have to store.
    @Test func storesAreCounted() throws {
        let left = try Left()
        defer { left.end() }
        func counts(_ kind: UInt32, fields: UInt32 = 0, flags: UInt32 = 0) -> [Int] {
            left.asks(kind, unique: 2, fields: fields, flags: flags)
            #expect(left.reads() == 64)
            return [left.channel.pageStoreCount, left.channel.timeStoreCount]
        }
        #expect(counts(16, flags: 1) == [1, 0])
        #expect(counts(16) == [1, 0], "a program waits for it")
        #expect(counts(4, fields: 1 << 5 | 1 << 10) == [1, 1])
        #expect(counts(4, fields: 1 << 3) == [1, 1], "a size")
        #expect(counts(20) == [1, 1])
    }

    /// The thread that would empty the pipe may be the one that fills it.
    @Test func wakingNeverWaits() throws {
        let left = try Left()
        defer { left.end() }
        let isOver = Condition(false)
        try CofferSystem.Thread.startDetached("wakes") {
            for _ in 0..<100_000 { left.channel.leave() }
            isOver.update { $0 = true }
        }
        let result = isOver.wait(nanoseconds: 60_000_000_000) { $0 ? true : nil }
        #expect(result == true)
    }

    @Test func leavingEndsAnIdleMountAtOnce() throws {
        let left = try Left()
        defer { left.end() }
        let start = Clock.monotonic
        left.channel.leave()
        #expect(left.reads() == -1 && errno == ENODEV)
        #expect(Clock.monotonic - start < 9_000_000_000)
    }
}
