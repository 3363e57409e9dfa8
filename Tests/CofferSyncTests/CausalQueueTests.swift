import CofferFormat
import CofferTestSupport
import Testing

import CofferSync

struct CausalQueueTests {
    private func log(_ number: UInt64) -> LogID { LogID(low: number, high: 0) }
    private func dot(_ log: UInt64, _ sequence: UInt64) -> Dot { Dot(log: self.log(log), sequence: sequence) }
    private func vector(_ pairs: [(UInt64, UInt64)]) -> VersionVector {
        var vector = VersionVector()
        for (log, sequence) in pairs { vector[self.log(log)] = sequence }
        return vector
    }

    @Test func commitWaitsForWhatItsAuthorHadApplied() {
        var queue = CausalQueue<String>(applied: VersionVector(), byteCountMax: 100)
        #expect(queue.offer("b1", dot(2, 1), needs: vector([(1, 2)]), byteCount: 10) == .held)
        #expect(queue.offer("b1", dot(2, 1), needs: vector([(1, 2)]), byteCount: 10) == .known)
        #expect(queue.gaps == [dot(1, 2): dot(2, 1)])
        #expect(queue.offer("a2", dot(1, 2), needs: VersionVector(), byteCount: 10) == .held)
        #expect(queue.gaps == [dot(1, 1): dot(1, 2)])
        #expect(queue.offer("a1", dot(1, 1), needs: VersionVector(), byteCount: 10) == .ready)
        #expect(queue.applied(dot(1, 1)) == ["a2"])
        #expect(queue.applied(dot(1, 2)) == ["b1"])
        #expect(queue.byteCount == 0 && queue.gaps.isEmpty)
        #expect(queue.offer("a1", dot(1, 1), needs: VersionVector(), byteCount: 10) == .known)
    }

    @Test func inconsistentCommitsAreNotHeld() {
        var queue = CausalQueue<String>(applied: VersionVector(), byteCountMax: 15)
        #expect(queue.offer("b1", dot(2, 1), needs: vector([(1, 1)]), byteCount: 10) == .held)
        #expect(
            queue.offer("c1", dot(3, 1), needs: vector([(1, 1)]), byteCount: 10) == .full(missing: dot(1, 1)))
        // A commit that lacks nothing needs no room.
        #expect(queue.offer("a1", dot(1, 1), needs: VersionVector(), byteCount: 1000) == .ready)
        #expect(queue.applied(dot(1, 1)) == ["b1"])
    }

    @Test func commitsAfterTheEndOfALogAreIgnored() {
        var queue = CausalQueue<String>(applied: VersionVector(), byteCountMax: 100)
        #expect(queue.offer("b1", dot(2, 1), needs: vector([(1, 7)]), byteCount: 10) == .held)
        #expect(queue.end(log(1), at: 0) == ["b1"])
        #expect(queue.counting(vector([(1, 7), (2, 1)])) == vector([(2, 1)]))
    }

    @Test func anyOrderBecomesACausalOne() {
        for seed in 0..<200 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            // A history in which each commit needs what its author happened to know.
            var versions = [VersionVector](repeating: VersionVector(), count: 4)
            var commits: [(dot: Dot, needs: VersionVector)] = []
            for _ in 0..<60 {
                let author = random.below(4)
                let other = random.below(4)
                for (log, sequence) in versions[other].sequences where log != self.log(UInt64(author)) {
                    versions[author][log] = max(versions[author][log], sequence)
                }
                var needs = versions[author]
                let dot = dot(UInt64(author), needs[log(UInt64(author))] + 1)
                needs[dot.log] = 0
                commits.append((dot, needs))
                versions[author][dot.log] = dot.sequence
            }
            let byteCountMax = random.below(40)
            var queue = CausalQueue<Int>(applied: VersionVector(), byteCountMax: byteCountMax)
            var order: [Int] = []
            var left = Set(commits.indices)
            var offers = 0
            while !left.isEmpty, offers < 10_000 {
                for index in left.shuffled(using: &random) {
                    offers += 1
                    let commit = commits[index]
                    switch queue.offer(index, commit.dot, needs: commit.needs, byteCount: 1) {
                    case .known, .held: left.remove(index)
                    case .full: break
                    case .ready:
                        left.remove(index)
                        var next = [index]
                        while let ready = next.popLast() {
                            order.append(ready)
                            next += queue.applied(commits[ready].dot)
                        }
                    }
                    #expect(queue.byteCount <= byteCountMax)
                }
            }
            #expect(order.count == commits.count, "seed \(seed)")
            var applied = VersionVector()
            for index in order {
                let commit = commits[index]
                #expect(applied[commit.dot.log] == commit.dot.sequence - 1, "seed \(seed)")
                #expect(applied.firstMissing(of: commit.needs) == nil, "seed \(seed)")
                applied[commit.dot.log] = commit.dot.sequence
            }
        }
    }
}
