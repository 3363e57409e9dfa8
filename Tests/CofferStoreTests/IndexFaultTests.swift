import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore

/// Makes the Nth call of the storage fail, for every N, and checks the result.
@Suite struct IndexFaultTests {
    /// A fault, and the power cut after it.
    struct Trial: Sendable, CustomTestStringConvertible {
        let code: Int32
        let lasts: Bool
        let cutsPower: Bool

        var testDescription: String {
            "errno \(code)\(lasts ? ", for ever" : "")\(cutsPower ? ", then a power cut" : "")"
        }
    }

    static let trials = [ErrorNumber.inputOutput, ErrorNumber.noSpace].flatMap { code in
        [false, true].flatMap { lasts in
            [false, true].map { Trial(code: code, lasts: lasts, cutsPower: $0) }
        }
    }

    /// The commits, the attempted commit, and the syncs until a failure.
    private struct History {
        var states: [IndexModel]
        var synced = 0
    }

    @Test(arguments: trials)
    func anyCallMayFail(trial: Trial) throws {
        let first = try TestIndex.create()
        for number in 0..<10_000 {
            let test = first.on(first.directory.copy())
            test.directory.fail(StorageFault(skip: number, code: trial.code, lasts: trial.lasts))
            let (history, left) = try run(test, cutsPower: trial.cutsPower, seed: UInt64(number))
            let hasFailed = test.directory.statistics.failures > 0
            left.heal()
            let (found, problems) = try first.on(left).inspect()
            let age = history.states.lastIndex(of: found)
            #expect(age != nil, "call \(number): the state is none that was committed")
            #expect((age ?? 0) >= history.synced, "call \(number): what was synced is lost")
            #expect(problems == [], "call \(number)")
            if !hasFailed { return }
        }
        Issue.record("The scenario does not end.")
    }

    /// Opens, changes, commits, syncs, moves the log, and closes; ends where something fails.
    ///
    /// - Returns: The history, and the disk: as a power cut at that moment leaves it, or as it is once
    ///   the index has been let go.
    private func run(
        _ test: TestIndex, cutsPower: Bool, seed: UInt64
    ) throws -> (history: History, left: SimulatedStorageDirectory) {
        var history = History(states: [try modelWithoutFaults(test)])
        var index: Index?
        var log: IndexLog?
        do {
            let opened = try test.open()
            index = opened
            let openedLog = try opened.makeLog()
            log = openedLog
            var rows = RandomRows(model: history.states[0], random: SplitMix64(seed: 1))
            for round in 0..<4 {
                try rows.change(opened, count: 12)
                history.states.append(rows.model)
                try opened.commit(restartingLog: round == 2)
                try openedLog.sync()
                history.synced = history.states.count - 1
                if round > 0 { try openedLog.checkpoint() }
            }
            try rows.change(opened, count: 12)
            history.states.append(rows.model)
            try opened.close()
            history.synced = history.states.count - 1
        } catch is FileSystemError {}
        let left = cutsPower ? test.directory.crash(seed: seed) : test.directory
        withExtendedLifetime((index, log)) {}
        return (history, left)
    }

    private func modelWithoutFaults(_ test: TestIndex) throws -> IndexModel {
        try test.on(test.directory.copy()).inspect().model
    }
}
