import Testing

@testable import CofferFUSE

struct RecentCallersTests {
    private func several(_ requests: [UInt32]) -> Bool {
        var callers = RecentCallers()
        for caller in requests { callers.recordRequest(of: caller) }
        return callers.areSeveral
    }

    @Test func aProgramAloneIsOne() {
        #expect(!several([]))
        #expect(!several([7, 7, 7]))
        #expect(!several([7, 0, 7, 0]), "the kernel itself is no program")
    }

    @Test func consecutiveProgramsAreNotSeveral() {
        #expect(!several([1, 1, 2, 2, 3, 4, 5]))
    }

    @Test func aReturningThreadMakesSeveral() {
        #expect(several([1, 2, 1]))
        #expect(several([1, 2, 3, 4, 1]))
    }

    @Test func callersAreForgottenAfterAWhile() {
        #expect(several([1, 2] + Array(repeating: 1, count: 60)))
        #expect(!several([1, 2] + Array(repeating: 1, count: 70)))
    }

    @Test func onlyTheLatestThreadsAreRemembered() {
        #expect(!several([1] + Array(10...30) + [1]))
    }
}
