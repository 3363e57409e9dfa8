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
