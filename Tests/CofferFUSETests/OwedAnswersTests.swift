import CCofferSystem
import CofferFormat
import CofferSystem
import Testing

@testable import CofferFUSE

/// When everything is answered that the kernel has sent.
@Suite struct OwedAnswersTests {
    private static let second: Int64 = 1_000_000_000

    @Test func aFenceNeedsAReadThatFoundNothing() throws {
        let owed = OwedAnswers()
        #expect(owed.fence == nil, "nobody waits")
        let isPassed = owed.wait(nanoseconds: 1_000_000) {}
        #expect(!isPassed)
        #expect(!owed.hasWaiters, "each answer would wake the serving thread")
        // What was asked for before is passed together with a later one.
        let result = Condition<Bool?>(nil)
        let hasBegun = Condition(false)
        try CofferSystem.Thread.startDetached("waits") {
            let isPassed = owed.wait(nanoseconds: 90 * Self.second) { hasBegun.update { $0 = true } }
            result.update { $0 = isPassed }
        }
        _ = hasBegun.wait { $0 ? true : nil }
        owed.add()
        #expect(owed.fence == nil, "a request is unanswered")
        #expect(!owed.isEmpty)
        #expect(owed.remove() && owed.hasWaiters, "the serving thread may sleep")
        let fence = try #require(owed.fence)
        owed.pass(fence)
        let passed = result.wait(nanoseconds: 90 * Self.second) { $0 }
        #expect(passed == true)
        #expect(!owed.hasWaiters)
        for _ in 0..<2 { owed.add() }
        #expect(!owed.remove() && owed.remove())
    }

    @Test func theEndOfTheMountPassesNoFence() {
        let owed = OwedAnswers()
        let isPassed = owed.wait(nanoseconds: 90 * Self.second) { owed.end() }
        #expect(!isPassed)
    }
}

/// What the vaults could not take.
@Suite struct FailedWritesTests {
    private let node = Node(slot: 1, item: 7)

    @Test func rangesStayUntilTheyAreWritten() {
        let failed = FailedWrites()
        #expect(failed.nodes == [])
        failed.add(0..<100, of: node)
        failed.add(50..<200, of: node)
        failed.add(0..<10, of: Node(slot: 1, item: 8))
        failed.remove(0..<150, of: node)
        #expect(Set(failed.nodes) == [node, Node(slot: 1, item: 8)])
        failed.remove(150..<1000, of: node)
        failed.removeAll(of: Node(slot: 1, item: 8))
        #expect(failed.nodes == [])
        failed.remove(0..<10, of: node)
        failed.add(5..<6, of: node)
        #expect(failed.nodes == [node])
    }
}

/// What is lost, since neither a vault nor the kernel has it.
@Suite struct LostWritesTests {
    private let node = Node(slot: 1, item: 7)

    @Test func onlyWhatIsNotStoredIsLost() {
        let failed = FailedWrites()
        failed.lose(0..<100, of: node)
        #expect(failed.takeLost() == [])
        failed.add(100..<200, of: node)
        failed.lose(0..<100, of: node)
        failed.lose(100..<200, of: Node(slot: 1, item: 8))
        #expect(failed.takeLost() == [] && failed.byteCount(of: node) == 100)
        failed.lose(150..<300, of: node)
        #expect(failed.takeLost() == [node] && failed.byteCount(of: node) == 50)
        #expect(failed.takeLost() == [], "once")
        failed.lose(0..<Int64.max, of: node)
        #expect(failed.takeLost() == [node] && failed.isEmpty)
    }

    /// The kernel's answer ends at the first page that it does not have, or where it has got long enough.
    @Test func theKernelIsAskedOn() {
        let pages = RetrievedPages()
        let range: Range<Int64> = 5000..<20_000
        func rest(_ range: Range<Int64>) -> [Range<Int64>?] {
            let rest = pages.rest(of: range, of: node)
            return [rest.missing, rest.next]
        }
        #expect(rest(range) == [nil, nil], "there is no answer")
        pages.add(15_000, of: node, at: 5000)
        #expect(rest(range) == [nil, nil], "that was all")
        pages.add(3192, of: node, at: 5000)
        #expect(rest(range) == [nil, 8192..<20_000])
        pages.add(0, of: node, at: 8192)
        #expect(rest(8192..<20_000) == [8192..<12_288, 12_288..<20_000])
        pages.add(0, of: node, at: 5000)
        #expect(rest(range) == [5000..<8192, 8192..<20_000])
        pages.add(0, of: node, at: 16_384)
        #expect(rest(16_384..<20_000) == [16_384..<20_000, nil])
        pages.removeAll()
        #expect(rest(range) == [nil, nil])
    }

    /// A request to read shows what the kernel does not have, unless the program goes around the cache.
    @Test func readsShowWhatIsMissing() throws {
        func request(_ kind: UInt32, flags: UInt32 = 0) -> [UInt8] {
            var writer = ByteWriter()
            for word: UInt32 in [80, kind, 2, 0] { writer.number(word) }
            writer.number(node.number)
            for _ in 0..<4 { writer.number(UInt32(0)) }
            for number: UInt64 in [0, 8192, 4096, 0] { writer.number(number) }
            writer.number(flags)
            writer.number(UInt32(0))
            return writer.finish()
        }
        let missing = request(15).withRawSpan { WireRequest.missingContent($0) }
        #expect(missing?.node == node && missing?.range == 8192..<12_288)
        let others = [
            request(16), request(15, flags: UInt32(coffer_O_DIRECT)), Array(request(15).prefix(70)),
        ]
        #expect(others.allSatisfy { $0.withRawSpan { WireRequest.missingContent($0) } == nil })
    }
}

/// The end of the kernel's queue, while programs that are refused ask on and on.
@Suite struct PassedQueueTests {
    private func request(_ kind: UInt32, thread: UInt32) throws -> WireRequest {
        var writer = ByteWriter()
        for word: UInt32 in [40, kind, 2, 0, 5, 0, 0, 0, thread, 0] { writer.number(word) }
        return try #require(writer.finish().withRawSpan { WireRequest($0) })
    }

    @Test func aThreadAsksAgainAfterItsAnswer() throws {
        var queue = PassedQueue()
        let (one, two) = (try request(1, thread: 1), try request(1, thread: 2))
        func isPassed(by request: WireRequest, _ fence: Int) -> Bool { queue.isPassed(by: request, fence) }
        #expect(!isPassed(by: one, 1))
        #expect(!isPassed(by: two, 1), "it may have been there before")
        #expect(isPassed(by: one, 1))
        #expect(!isPassed(by: one, 2), "somebody else waits for what has come since")
        queue.restart()
        #expect(!isPassed(by: one, 2), "a request has come between")
        #expect(isPassed(by: one, 2))
    }

    /// A thread may have several reads under way, and the kernel makes requests of its own.
    @Test(arguments: [(15, 3), (16, 3), (1, 0), (18, 3)] as [(UInt32, UInt32)])
    func otherRequestsTellNothing(kind: UInt32, thread: UInt32) throws {
        var queue = PassedQueue()
        for _ in 0..<3 {
            let isPassed = queue.isPassed(by: try request(kind, thread: thread), 1)
            #expect(!isPassed)
        }
    }
}

/// Notifications of the kernel at the end of a mount.
@Suite struct NotificationsTests {
    @Test func theEndWaitsForThoseUnderWay() throws {
        let notifications = Notifications()
        let (hasBegun, mayEnd, hasEnded) = (Condition(false), Condition(false), Condition(false))
        try CofferSystem.Thread.startDetached("notifies") {
            notifications.perform {
                hasBegun.update { $0 = true }
                _ = mayEnd.wait { $0 ? true : nil }
            }
        }
        _ = hasBegun.wait { $0 ? true : nil }
        try CofferSystem.Thread.startDetached("ends") {
            notifications.end()
            hasEnded.update { $0 = true }
        }
        let early = hasEnded.wait(nanoseconds: 100_000_000) { $0 ? true : nil }
        #expect(early == nil)
        mayEnd.update { $0 = true }
        _ = hasEnded.wait { $0 ? true : nil }
        notifications.perform { Issue.record("a notification after the end") }
    }
}
