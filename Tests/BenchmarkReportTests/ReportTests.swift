import BenchmarkReport
import Testing

@Suite struct ReportTests {
    @Test("Saved samples make the same report")
    func roundTrip() throws {
        let results = SampleResults.results()
        let again = try Results(json: try results.json())
        #expect(again == results)
        #expect(MarkdownReport(again).text == MarkdownReport(results).text)
        #expect(OverviewChart(again).svg == OverviewChart(results).svg)
    }

    @Test("The page has medians, spreads, ratios, and what was left out")
    func page() {
        let text = MarkdownReport(SampleResults.results()).text
        #expect(
            text.contains("| sequential write | 2.00× | 2.00× (gocryptfs) | 0.50× | 0.25× (fuse-memory) |"))
        #expect(
            text.contains(
                "| sequential write | MB/s ↑ | 200 (100–300) | 100 (90.0–110) | *900* | 400 | 800 |"))
        #expect(text.contains("| mount | 0.50× | 0.20× (rclone) | – | – |"))
        #expect(text.contains("- encfs: not installed"))
        #expect(text.contains("- **rclone**: it writes to a cache (sequential write)."))
        #expect(text.contains("a \\| b"))
        #expect(!text.contains("Do not quote it"))
    }

    @Test("A quick run says what it is")
    func quick() {
        var results = SampleResults.results()
        results.run.isQuick = true
        #expect(MarkdownReport(results).text.contains("Do not quote it"))
    }

    @Test("The overview has a point for each peer that takes part, and for the disk")
    func overview() throws {
        let svg = try #require(OverviewChart(SampleResults.results()).svg)
        #expect(svg.contains("<title>sequential write: 2.00× gocryptfs</title>"))
        #expect(svg.contains("<title>sequential write: 0.50× ext4</title>"))
        #expect(svg.contains("<title>mount: 0.20× rclone</title>"))
        #expect(!svg.contains("sequential write: 0.22× rclone"))
        #expect(!svg.contains("fuse-memory"))
        #expect(svg.contains("prefers-color-scheme: dark"))
    }

    @Test("Groups without figures have no chart")
    func groups() throws {
        let results = SampleResults.results()
        #expect(GroupChart(results, .tree).svg == nil)
        #expect(try #require(GroupChart(results, .large).svg).contains("900 (no race)"))
    }

    @Test("Without the subject there is nothing to compare")
    func withoutSubject() {
        var results = SampleResults.results()
        results.systems.removeFirst()
        #expect(OverviewChart(results).svg == nil)
        #expect(MarkdownReport(results).text.contains("Coffer was not measured."))
    }
}
