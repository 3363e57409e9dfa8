package import CofferFormat
internal import CofferSystem

/// The work of a vault's two background threads.
///
/// The threads sleep while nothing changes.
final class Upkeep: Sendable {
    struct Work {
        var hasChanges = false
        var isUrgent = false
        var needsUpkeep = false
        var upkeepIsUrgent = false
        var released: [Int64] = []
        var isStopped = false
        var threads: [Thread] = []
    }

    private static let breath: Int64 = 1_000_000
    /// How long to wait for room on a full disk, in nanoseconds.
    private static let roomPause: Int64 = 5_000_000_000

    let work = Condition(Work(), rank: .leaf)

    /// Records that there is something to commit: at once, or at the end of its second.
    func noteChanges(isUrgent: Bool) {
        let wakes = work.withLock { work in
            let wakes = !work.hasChanges || (isUrgent && !work.isUrgent)
            work.hasChanges = true
            work.isUrgent = work.isUrgent || isUrgent
            return wakes
        }
        if wakes { work.update { _ in } }
    }

    /// Records that there is upkeep to do: at once, or when there is time.
    func noteUpkeep(isUrgent: Bool) {
        let wakes = work.withLock { work in
            let wakes = isUrgent ? !work.upkeepIsUrgent : !work.needsUpkeep
            work.needsUpkeep = true
            work.upkeepIsUrgent = work.upkeepIsUrgent || isUrgent
            return wakes
        }
        if wakes { work.update { _ in } }
    }

    /// Leaves the removal of an item without a name to the upkeep thread.
    func release(_ number: Int64) {
        work.update { $0.released.append(number) }
    }

    /// Whether the threads should end.
    var isStopped: Bool { work.withLock { $0.isStopped } }

    /// Pauses briefly, so that other threads can use the disk and the lock.
    func pause() {
        _ = work.wait(nanoseconds: Self.breath) { $0.isStopped ? true : nil }
    }

    /// Has upkeep that found no room done again after a while.
    func awaitRoom() {
        _ = work.wait(nanoseconds: Self.roomPause) { $0.isStopped || $0.upkeepIsUrgent ? true : nil }
        noteUpkeep(isUrgent: false)
    }

    /// Ends the threads and waits for them.
    func stop() {
        work.update { $0.isStopped = true }
        let threads = work.withLock { work in
            defer { work.threads = [] }
            return work.threads
        }
        for thread in threads { thread.join() }
    }
}

extension Vault {
    private static let second: Int64 = 1_000_000_000

    /// Starts the threads that commit once a second and do the upkeep.
    ///
    /// - Parameter inUse: The items that programs use, and that stay even if they have no name.
    package func start(keeping inUse: Set<Int64> = []) throws(FileSystemError) {
        guard !isReadOnly else { return }
        reserveNumbers()
        let reaped = Array(state.withLock { $0.tree.orphans.subtracting(inUse) })
        upkeep.work.withLock { $0.released = reaped }
        do throws(SystemError) {
            let threads = [
                try Thread.start("coffer-commit") { [self] in commitEachSecond() },
                try Thread.start("coffer-upkeep") { [self] in repacking.tidyUp() },
            ]
            upkeep.work.withLock { $0.threads = threads }
        } catch {
            throw .system(error)
        }
    }

    private func commitEachSecond() {
        while upkeep.work.wait(for: { $0.isStopped ? false : $0.hasChanges ? true : nil }) {
            _ = upkeep.work.wait(nanoseconds: Self.second) { $0.isStopped || $0.isUrgent ? true : nil }
            upkeep.work.withLock {
                $0.hasChanges = false
                $0.isUrgent = false
            }
            do throws(FileSystemError) {
                try commitIndex()
            } catch {
                problems.add("Changes could not be stored yet: \(error.summary)", about: .storing(id))
                guard state.withLock({ $0.stopped == nil }) else { continue }
                // On a full disk, programs that try again must not make commits follow one another.
                _ = upkeep.work.wait(nanoseconds: Self.second) { $0.isStopped ? true : nil }
                upkeep.work.withLock { $0.hasChanges = true }
            }
        }
    }
}

extension Repacking {
    /// Waits for upkeep to do and then, unless that is urgent, until files have been left alone for a while.
    ///
    /// - Returns: Items to remove; nil if the thread should end.
    private func nextUpkeep() -> [Int64]? {
        _ = vault.upkeep.work.wait { $0.isStopped || $0.needsUpkeep || !$0.released.isEmpty ? true : nil }
        _ = vault.upkeep.work.wait(nanoseconds: Compaction.quiet) {
            $0.isStopped || $0.upkeepIsUrgent || !$0.released.isEmpty ? true : nil
        }
        return vault.upkeep.work.withLock { work in
            if work.isStopped { return nil }
            defer {
                work.needsUpkeep = false
                work.upkeepIsUrgent = false
                work.released = []
            }
            return work.released
        }
    }

    /// Does upkeep until the vault is closed.
    fileprivate func tidyUp() {
        var released: [Int64] = []
        while let more = nextUpkeep() {
            // Includes items that a full disk kept from being removed.
            released += more
            do throws(FileSystemError) {
                while let number = released.popLast() {
                    do throws(FileSystemError) {
                        try eraseInSlices(number)
                    } catch {
                        if case .noSpace = error { released.append(number) }
                        throw error
                    }
                }
                try vault.moveLog()
                try vault.cache.evictIfDue()
                try vault.history.thinIfDue()
                if try compact() { vault.upkeep.noteUpkeep(isUrgent: false) }
                vault.problems.remove(about: .upkeep(vault.id))
            } catch {
                vault.problems.add("Background upkeep failed: \(error.summary)", about: .upkeep(vault.id))
                if case .noSpace = error { vault.upkeep.awaitRoom() }
            }
        }
    }
}
