import CofferFacts
import FactHistories
import Testing

/// Random histories: after each step `FactTree` shows what `FullEvaluation` says, local changes change nothing
/// else, and in the end all devices show the same, with nothing lost.
@Suite struct HistoryTests {
    private static let parts = UInt64(0)..<8

    @Test("Short histories", arguments: parts)
    func short(part: UInt64) throws {
        for seed in part * 200..<(part + 1) * 200 where !(try holds(seed, steps: 12)) { return }
    }

    @Test("Long histories", arguments: parts)
    func long(part: UInt64) throws {
        for seed in part * 3..<(part + 1) * 3 where !(try holds(seed, steps: 90)) { return }
    }

    @Test("Histories in which contents move", arguments: parts)
    func moves(part: UInt64) throws {
        for seed in part * 100..<(part + 1) * 100 where !(try holds(seed, steps: 25, movesContents: true)) {
            return
        }
        for seed in part * 100..<(part + 1) * 100
        where !(try holds(seed, steps: 14, hostileCommits: 4, movesContents: true)) {
            return
        }
    }

    @Test("Hostile commits: all devices show the same tree", arguments: parts)
    func hostile(part: UInt64) throws {
        for seed in part * 100..<(part + 1) * 100 where !(try holds(seed, steps: 10, hostileCommits: 6)) {
            return
        }
    }

    @Test(
        "Histories that once went wrong",
        arguments: [
            // A directory that was shown inside one of its present descendants, which made the pass endless.
            (UInt64(1120), 40, 0),
            // A copy whose removal also removed the reason to keep its file.
            (5191, 200, 0),
            // Parts of one directory left a directory that was kept for one of them.
            (20507, 200, 0),
            // A file that was kept under a name by rule, while its copies were named after another name.
            (117, 164, 0),
            (1128, 200, 0),
            (2588, 200, 0),
            // The removal of a file's last name that no other device knew: no fact said which contents were seen.
            (14076, 56, 0),
            // A copy that was removed was stated with the other copies of its item.
            (20157, 177, 0),
            // A directory that was put back when only a kind changed.
            (1401, 12, 10),
        ])
    func regressions(seed: UInt64, steps: Int, hostileCommits: Int) throws {
        _ = try holds(seed, steps: steps, hostileCommits: hostileCommits)
    }

    @Test("A fresh history")
    func fresh() throws {
        _ = try holds(UInt64.random(in: 0...UInt64.max), steps: 40)
    }

    private func holds(
        _ seed: UInt64, steps: Int, hostileCommits: Int = 0, movesContents: Bool = false
    ) throws -> Bool {
        let flaw = try FactHistory<MemoryFactStore>.flaw(
            seed: seed, steps: steps, hostileCommits: hostileCommits, movesContents: movesContents)
        if let flaw { Issue.record("\(flaw)") }
        return flaw == nil
    }
}
