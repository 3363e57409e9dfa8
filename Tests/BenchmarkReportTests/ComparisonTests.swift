import BenchmarkReport
import Testing

@Suite struct ComparisonTests {
    @Test("Half of the figures are on each side of the median")
    func median() {
        #expect(Summary([3, 1, 2])?.median == 2)
        #expect(Summary([4, 1, 2, 3])?.median == 2.5)
        #expect(Summary([7])?.median == 7)
        #expect(Summary([]) == nil)
        #expect(Summary([5, -1, 2])?.least == -1)
        #expect(Summary([5, -1, 2])?.greatest == 5)
    }

    @Test("More than 1 is better, for rates and for times")
    func ratios() throws {
        #expect(try SampleResults.comparison(SampleResults.write).ratio(toSystem: "gocryptfs") == 2)
        #expect(try SampleResults.comparison(SampleResults.mount).ratio(toSystem: "gocryptfs") == 0.5)
        #expect(SampleResults.mount.ratio(0, to: 1) == nil)
        #expect(SampleResults.mount.ratio(-0.1, to: 1) == nil)
        #expect(SampleResults.write.ratio(1, to: 0) == nil)
    }

    @Test("The best peer keeps the promise of the row")
    func bestPeer() throws {
        #expect(try SampleResults.comparison(SampleResults.write).bestPeer?.system.id == "gocryptfs")
        #expect(try SampleResults.comparison(SampleResults.mount).bestPeer?.system.id == "rclone")
    }

    @Test("The ceiling is not a peer")
    func ceiling() throws {
        let comparison = try SampleResults.comparison(SampleResults.write)
        #expect(comparison.ceiling?.system.id == "fuse-memory")
        #expect(comparison.racingPeers.map(\.system.id) == ["gocryptfs"])
        #expect(try SampleResults.comparison(SampleResults.mount).ceiling == nil)
    }

    @Test("A missing measurement has no comparison, and no ratio")
    func missing() throws {
        let other = Measure(.small, "create", "create", "files/s", .higher)
        #expect(Comparison(SampleResults.results(), other) == nil)
        #expect(try SampleResults.comparison(SampleResults.mount).ratio(toSystem: "ext4") == nil)
    }

    @Test("Rounds are in order, whatever order they were recorded in")
    func order() {
        var results = SampleResults.results()
        results.samples.reverse()
        #expect(results.values("coffer", SampleResults.write.id) == [300, 100, 200])
    }
}
