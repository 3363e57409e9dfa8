import CofferFacts
import CofferFormat
import FactHistories
import Testing

/// The histories of the facts' own tests, run on the index.
@Suite struct IndexFactStoreTests {
    private static let parts = UInt64(0)..<4

    @Test("Short histories", arguments: parts)
    func short(part: UInt64) throws {
        for seed in part * 12..<(part + 1) * 12 where !(try holds(seed, steps: 12)) { return }
    }

    @Test("Long histories", arguments: parts)
    func long(part: UInt64) throws {
        _ = try holds(part, steps: 90)
    }

    @Test("Hostile commits", arguments: parts)
    func hostile(part: UInt64) throws {
        for seed in part * 12..<(part + 1) * 12 where !(try holds(seed, steps: 10, hostileCommits: 6)) {
            return
        }
    }

    @Test("A fresh history")
    func fresh() throws {
        _ = try holds(UInt64.random(in: 0...UInt64.max), steps: 40)
    }

    private func holds(_ seed: UInt64, steps: Int, hostileCommits: Int = 0) throws -> Bool {
        let flaw = try FactHistory<ComparedFactStore>.flaw(
            seed: seed, steps: steps, hostileCommits: hostileCommits)
        if let flaw { Issue.record("\(flaw)") }
        return flaw == nil
    }

    @Test("After a long history the index is sound", arguments: parts)
    func sound(part: UInt64) throws {
        var history = try FactHistory<ComparedFactStore>(seed: 100 + part, hostileCommits: 4)
        try history.run(steps: 60)
        try history.finish()
        for replica in history.replicas { #expect(try replica.tree.store.problems() == []) }
    }
}
