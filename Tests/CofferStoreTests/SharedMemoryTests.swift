import Testing

@testable import CofferStore

/// The rules of xShmLock in SQLite's sqlite3_io_methods.
@Suite struct SharedMemoryTests {
    private let memory = SharedMemory()

    @Test func sharedLocksShare() {
        var (one, two) = (SharedMemory.Holdings(), SharedMemory.Holdings())
        #expect(memory.lock(3..<4, exclusive: false, for: &one))
        #expect(memory.lock(3..<4, exclusive: false, for: &two))
    }

    @Test func anExclusiveLockKeepsOthersOut() {
        var (one, two) = (SharedMemory.Holdings(), SharedMemory.Holdings())
        #expect(memory.lock(0..<1, exclusive: true, for: &one))
        #expect(!memory.lock(0..<1, exclusive: true, for: &two))
        #expect(!memory.lock(0..<1, exclusive: false, for: &two))
        memory.unlock(0..<1, for: &one)
        #expect(memory.lock(0..<1, exclusive: true, for: &two))
    }

    @Test func aSharedLockKeepsExclusiveOnesOut() {
        var (one, two) = (SharedMemory.Holdings(), SharedMemory.Holdings())
        #expect(memory.lock(4..<5, exclusive: false, for: &one))
        #expect(!memory.lock(4..<5, exclusive: true, for: &two))
        memory.unlock(4..<5, for: &one)
        #expect(memory.lock(4..<5, exclusive: true, for: &two))
    }

    /// All of a range or none of it.
    @Test func aPartlyLockedRangeIsNotTouched() {
        var (one, two, three) = (SharedMemory.Holdings(), SharedMemory.Holdings(), SharedMemory.Holdings())
        #expect(memory.lock(5..<6, exclusive: false, for: &one))
        #expect(!memory.lock(4..<8, exclusive: true, for: &two))
        #expect(two.exclusive.isEmpty)
        #expect(memory.lock(4..<5, exclusive: true, for: &three))
        #expect(memory.lock(6..<8, exclusive: true, for: &three))
    }

    @Test func lockingTwiceCountsOnce() {
        var (one, two) = (SharedMemory.Holdings(), SharedMemory.Holdings())
        #expect(memory.lock(3..<4, exclusive: false, for: &one))
        #expect(memory.lock(3..<4, exclusive: false, for: &one))
        memory.unlock(3..<4, for: &one)
        #expect(memory.lock(3..<4, exclusive: true, for: &two))
    }

    /// A sole holder may upgrade its shared lock, and has it again afterwards.
    @Test func aLoneHolderMayRaiseItsLock() {
        var (one, two) = (SharedMemory.Holdings(), SharedMemory.Holdings())
        #expect(memory.lock(2..<3, exclusive: false, for: &one))
        #expect(memory.lock(2..<3, exclusive: true, for: &one))
        #expect(!memory.lock(2..<3, exclusive: false, for: &two))
        memory.unlock(2..<3, for: &one)
        #expect(memory.lock(2..<3, exclusive: false, for: &two))
        #expect(!memory.lock(2..<3, exclusive: true, for: &two))
        memory.unlock(2..<3, for: &one)
        #expect(memory.lock(2..<3, exclusive: true, for: &two))
    }

    @Test func unlockingWithoutALockChangesNothing() {
        var (one, two) = (SharedMemory.Holdings(), SharedMemory.Holdings())
        #expect(memory.lock(1..<2, exclusive: true, for: &one))
        memory.unlock(0..<8, for: &two)
        #expect(!memory.lock(1..<2, exclusive: false, for: &two))
    }

    @Test func regionsAreMadeOnDemandAndStayWhereTheyAre() {
        #expect(memory.region(0, byteCount: 32_768, extend: false) == nil)
        let first = memory.region(0, byteCount: 32_768, extend: true)
        #expect(first != nil)
        #expect(memory.region(2, byteCount: 32_768, extend: true) != nil)
        #expect(memory.region(0, byteCount: 32_768, extend: true) == first)
        #expect(memory.region(1, byteCount: 32_768, extend: false) != nil)
        #expect(first?.load(fromByteOffset: 32_760, as: UInt64.self) == 0)
        memory.reset()
        #expect(memory.region(0, byteCount: 32_768, extend: false) == nil)
    }
}
