import CofferFormat
import Synchronization
import Testing

@testable import CofferVault

/// Problems of a vault name it, wherever they are shown.
@Suite struct ProblemLogTests {
    @Test func problemsOfAVaultNameIt() {
        let reports = Mutex([String]())
        let all = ProblemLog { text in reports.withLock { $0.append(text) } }
        let log = ProblemLog(ofVault: "Plans", in: all)
        log.add("a/b: bytes 0 to 9 cannot be read")
        log.add("a/b: bytes 0 to 9 cannot be read")
        let subject = ProblemLog.Subject.content(VaultID(low: 1, high: 2), 3)
        log.add("c cannot be read", about: subject)
        log.renameVault("Ideas")
        log.add("d cannot be read")
        let texts = [
            "“Plans”: a/b: bytes 0 to 9 cannot be read", "“Plans”: c cannot be read",
            "“Ideas”: d cannot be read",
        ]
        #expect(all.all.map(\.text) == texts && log.all == all.all)
        #expect(reports.withLock { $0 } == texts)
        log.remove(about: subject)
        #expect(all.all.count == 2)
    }
}
