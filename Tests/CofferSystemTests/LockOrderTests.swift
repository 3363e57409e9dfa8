import CofferSystem
import Testing

@Suite struct LockOrderTests {
    @Test("Locks are taken in the order of their ranks, across both kinds of lock, and again afterwards")
    func order() {
        let first = Condition(1, rank: .commit)
        let second = RankedMutex(2, rank: .vaultState)
        let third = RankedMutex(3, rank: .leaf)
        for _ in 0..<2 {
            let sum = first.withLock { one in
                second.withLock { two in third.withLock { $0 + two + one } } + third.withLock { $0 }
            }
            #expect(sum == 9)
            #expect(second.withLock { $0 } == 2)
            #expect(first.wait { $0 } == 1)
        }
    }

    @Test("An error gives the lock back")
    func errors() {
        let lock = RankedMutex(0, rank: .vaultState)
        for _ in 0..<2 {
            #expect(throws: SystemError.self) {
                try lock.withLock { state throws(SystemError) in
                    state += 1
                    throw SystemError("read", code: 5)
                }
            }
        }
        #expect(lock.withLock { $0 } == 2)
    }

    @Test("Locks without a rank are not part of the order")
    func noRank() {
        let leaf = RankedMutex(1, rank: .leaf)
        let other = Condition(2)
        #expect(leaf.withLock { one in other.withLock { $0 + one } } == 3)
    }

    #if DEBUG
    @Test("A lock of an earlier rank ends the process, and the message names both")
    func wrongOrder() async throws {
        let result = try await #require(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let state = Condition(1, rank: .vaultState)
            let commit = RankedMutex(2, rank: .commit)
            _ = state.withLock { one in commit.withLock { $0 + one } }
        }
        let message = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(message.contains("rank commit"))
        #expect(message.contains("vaultState"))
    }

    @Test("Two locks of the same rank end the process, as do locks of two vaults")
    func sameRank() async {
        await #expect(processExitsWith: .failure) {
            let one = Condition(1, rank: .vaultState), other = Condition(2, rank: .vaultState)
            _ = one.withLock { first in other.withLock { $0 + first } }
        }
    }

    @Test("A lock inside a lock of one value ends the process")
    func leaf() async {
        await #expect(processExitsWith: .failure) {
            let one = RankedMutex(1, rank: .leaf), other = RankedMutex(2, rank: .leaf)
            _ = one.withLock { first in other.withLock { $0 + first } }
        }
    }
    #endif
}
