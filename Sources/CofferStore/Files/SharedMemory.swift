internal import CSQLite
internal import CofferSystem
internal import Synchronization

/// The WAL index that SQLite's connections to one index share, in the memory of this process.
///
/// SQLite would keep it in a file, with fcntl(2) locks. Since only this process has the profile locked,
/// memory and counters are enough, and nothing of it reaches a disk.
final class SharedMemory: Sendable {
    /// A piece of memory with a fixed address.
    @safe
    private final class Region {
        // SAFETY: owned from init to deinit; access to the contents is SQLite's own protocol over the locks.
        let start: UnsafeMutableRawPointer

        init(byteCount: Int) {
            unsafe start = .allocate(byteCount: byteCount, alignment: 16)
            unsafe start.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
        }

        deinit {
            unsafe start.deallocate()
        }
    }

    private struct State {
        var regions: [Region] = []
        /// For each lock: -1 if it is held exclusively, otherwise the number of holders.
        var holders = [Int](repeating: 0, count: Int(SQLITE_SHM_NLOCK))
    }

    /// The locks that one connection holds.
    struct Holdings {
        var shared: Set<Int> = []
        var exclusive: Set<Int> = []
    }

    private let state = RankedMutex(State(), rank: .leaf)

    /// The address of a region, allocated if `extend` and missing; nil if missing.
    func region(_ number: Int, byteCount: Int, extend: Bool) -> UnsafeMutableRawPointer? {
        unsafe state.withLock { state in
            while extend, state.regions.count <= number {
                state.regions.append(Region(byteCount: byteCount))
            }
            return unsafe number < state.regions.count ? state.regions[number].start : nil
        }
    }

    /// Like xShmLock of SQLite's I/O methods; false means SQLITE_BUSY.
    func lock(_ range: Range<Int>, exclusive: Bool, for holdings: inout Holdings) -> Bool {
        state.withLock { state in
            for lock in range {
                let mine = holdings.shared.contains(lock) ? 1 : 0
                let others = state.holders[lock] - mine
                if exclusive ? others != 0 : state.holders[lock] < 0 { return false }
            }
            for lock in range {
                if exclusive {
                    state.holders[lock] = -1
                    holdings.exclusive.insert(lock)
                } else if holdings.shared.insert(lock).inserted {
                    state.holders[lock] += 1
                }
            }
            return true
        }
    }

    /// Releases locks.
    func unlock(_ range: Range<Int>, for holdings: inout Holdings) {
        state.withLock { state in
            for lock in range {
                if holdings.exclusive.remove(lock) != nil {
                    state.holders[lock] = holdings.shared.contains(lock) ? 1 : 0
                } else if holdings.shared.remove(lock) != nil {
                    state.holders[lock] -= 1
                }
            }
        }
    }

    /// Drops the shared memory, once no connection is left.
    func reset() {
        state.withLock { state in
            state = State()
        }
    }
}
