import CofferFormat
import Testing

@testable import CofferStore

@Suite struct FactQueryTests {
    /// Tables that may be scanned: `logs` has a row for each device, and these indexes have no rows except those
    /// that are queried.
    private let allowed: [FactQuery: String] = [
        .logs: "SCAN logs",
        .putBack: "SCAN fact_items USING INDEX fact_items_put_back",
        .changed: "SCAN fact_entries USING INDEX fact_entries_changed",
    ]

    @Test("No statement scans a table, or sorts")
    func plans() throws {
        let test = try TestIndex.create()
        let index = try test.open()
        try index.addFacts()
        for query in FactQuery.allCases {
            var steps: [String] = []
            try index.database.prepare("EXPLAIN QUERY PLAN \(query.sql)").each({ _ in }) { row in
                steps.append(row.text(3))
                return true
            }
            for step in steps where step.hasPrefix("SCAN") || step.contains("TEMP B-TREE") {
                #expect(step == allowed[query], "\(query): \(steps)")
            }
            let searches = steps.filter { $0.hasPrefix("SEARCH") || $0.hasPrefix("SCAN") }
            // Rows without a condition are removed with their pages, which are not read.
            let isWhole = query.sql.hasPrefix("DELETE") && !query.sql.contains("WHERE")
            #expect(!searches.isEmpty || isWhole || query.sql.hasPrefix("INSERT"), "\(query): \(steps)")
        }
    }
}
