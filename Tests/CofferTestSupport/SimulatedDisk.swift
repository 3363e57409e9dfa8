import CofferSystem

/// All files of a simulated disk, under one lock.
final class SimulatedDisk: Sendable {
    struct State {
        var files: [Int: SimulatedFile] = [:]
        /// The directories by path; the root's path is "".
        var directories: [String: NameTable] = ["": NameTable()]
        var nextFile = 1
        /// Pages of all files that have a name.
        var usedPages = 0
        var pageLimit = Int.max
        var statistics = StorageStatistics()
        var faults: [StorageFault] = []
        var observer: (@Sendable (StorageCall, String) -> Void)?
    }

    let state: Condition<State>

    init(_ state: State = State()) {
        self.state = Condition(state)
    }

    /// Counts a call, and makes it unless it is one that must fail.
    func perform<Result>(
        _ call: StorageCall, _ path: String, _ body: (inout State) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        let observer = state.withLock { state in
            state.statistics.counts[call, default: 0] += 1
            if StorageCall.flushes.contains(call) { state.statistics.flushed.append(path) }
            return state.observer
        }
        observer?(call, path)
        return try state.withLock { state throws(SystemError) in
            try Self.failIfTurn(call, path, &state)
            return try body(&state)
        }
    }

    private static func failIfTurn(
        _ call: StorageCall, _ path: String, _ state: inout State
    ) throws(SystemError) {
        for index in state.faults.indices where state.faults[index].concerns(call, path) {
            let fault = state.faults[index]
            if fault.skip > 0 {
                state.faults[index].skip -= 1
                continue
            }
            if !fault.lasts { state.faults.remove(at: index) }
            state.statistics.failures += 1
            throw SystemError(call.rawValue, code: fault.code, on: path)
        }
    }

    /// As `perform`, on one file, keeping account of its pages.
    func change<Result>(
        _ call: StorageCall, _ path: String, _ number: Int,
        _ body: (inout SimulatedFile, _ freePages: Int) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        try perform(call, path) { state throws(SystemError) in
            guard var file = state.files.removeValue(forKey: number) else {
                throw SystemError(call.rawValue, code: ErrorNumber.inputOutput, on: path)
            }
            let before = file.visible.pages.count
            let free = state.pageLimit - state.usedPages
            defer {
                state.usedPages += file.visible.pages.count - before
                state.files[number] = file
            }
            return try body(&file, max(0, free))
        }
    }
}
