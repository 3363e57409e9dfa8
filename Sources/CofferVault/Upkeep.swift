internal import CofferStore
internal import CofferSystem

/// What the two background threads of a vault wait for. They sleep as long as nothing changes.
final class Upkeep: Sendable {
    struct Work {
        var hasChanges = false
        var isUrgent = false
        var needsUpkeep = false
        var released: [Int64] = []
        var isStopped = false
        var threads: [Thread] = []
    }

    /// Rows to write at which a commit does not wait for its second to be over.
    private static let urgentChangeCount = 20_000

    private static let breath: Int64 = 1_000_000

    let work = Condition(Work())

    /// Says that there is something to commit.
    func note(changes: Int) {
        let isUrgent = changes >= Self.urgentChangeCount
        let wakes = work.withLock { work in
            let wakes = !work.hasChanges || (isUrgent && !work.isUrgent)
            work.hasChanges = true
            work.isUrgent = work.isUrgent || isUrgent
            return wakes
        }
        if wakes { work.update { _ in } }
    }

    /// Says that a commit is done, so that there may be something to tidy up.
    func noteCommit() {
        work.update { $0.needsUpkeep = true }
    }

    /// Leaves an item without a name to be taken apart.
    func release(_ number: Int64) {
        work.update { $0.released.append(number) }
    }

    /// Whether the threads are to end.
    var isStopped: Bool { work.withLock { $0.isStopped } }

    /// Lets others have the disk and the lock for a moment.
    func pause() {
        _ = work.wait(nanoseconds: Self.breath) { $0.isStopped ? true : nil }
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

    /// Starts the threads that commit each second and tidy up.
    package func start() throws(FileSystemError) {
        guard !isReadOnly else { return }
        let reaped = Array(state.withLock { $0.orphans })
        upkeep.work.withLock { $0.released = reaped }
        try storing { () throws(StoreError) in
            do throws(SystemError) {
                let threads = [
                    try Thread.start("coffer-commit") { [self] in commitEachSecond() },
                    try Thread.start("coffer-upkeep") { [self] in tidyUp() },
                ]
                upkeep.work.withLock { $0.threads = threads }
            } catch {
                throw StoreError.system(error)
            }
        }
    }

    /// Looks again at files that are still being written.
    private func retryLater() {
        _ = upkeep.work.wait(nanoseconds: Compaction.quiet) { $0.isStopped ? true : nil }
        upkeep.work.update { $0.needsUpkeep = true }
    }

    private func commitEachSecond() {
        while upkeep.work.wait(for: { $0.isStopped ? false : $0.hasChanges ? true : nil }) {
            _ = upkeep.work.wait(nanoseconds: Self.second) { $0.isStopped || $0.isUrgent ? true : nil }
            upkeep.work.withLock {
                $0.hasChanges = false
                $0.isUrgent = false
            }
            do throws(FileSystemError) {
                try commit()
            } catch {
                problems.add("Changes could not be stored yet: \(error)")
                if state.withLock({ $0.stopped == nil }) { upkeep.work.withLock { $0.hasChanges = true } }
            }
        }
    }

    private func tidyUp() {
        while true {
            let released: [Int64]? = upkeep.work.wait { work in
                if work.isStopped { return .some(nil) }
                guard work.needsUpkeep || !work.released.isEmpty else { return nil }
                defer {
                    work.needsUpkeep = false
                    work.released = []
                }
                return .some(work.released)
            }
            guard let released else { return }
            do throws(FileSystemError) {
                for number in released { try eraseInSlices(number) }
                try moveLog()
                if try compact() { retryLater() }
            } catch {
                problems.add("Tidying up failed: \(error)")
            }
        }
    }
}
