import Foundation
import Testing

extension MountTests {
    /// Real programs in a mount, by Tests/applications.sh.
    @Suite struct ApplicationTests {
        /// Only programs that need no large packages; `make applications` runs all.
        @Test func programsFindWhatTheyWrote() throws {
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .deletingLastPathComponent().appendingPathComponent("applications.sh").path
            let result = try Command("/bin/bash", [script, "--quick", try Programs.coffer()]).run(
                seconds: 500)
            let failures = result.lines.filter { !$0.hasPrefix("passed") }.joined(separator: "\n")
            #expect(result.status == 0, "\(failures)\n\(result.error)")
            #expect(result.lines.count { $0.hasPrefix("passed: SQLite") } == 8, "\(failures)")
            #expect(result.lines.count { $0.hasPrefix("passed: ") } > 25, "\(failures)")
        }
    }
}
