import CofferSystem
import CofferTestSupport
import CofferVault
import Testing

/// What the debug log tells of threads that wait in a vault; in processes of their own, as a process has one log.
@Suite struct LoggedWaitTests {
    /// A commit that waits for another one says that it waited for a lock.
    @Test func aCommitThatWaitsForAnother() async throws {
        await #expect(processExitsWith: .success) {
            let test = try TestVault.create()
            let vault = try test.open()
            let log = LoggedWaits()
            // The pauses grow, because on a busy machine the second thread may begin late.
            for milliseconds: Int64 in [200, 1000, 5000, 25_000] where log.times(of: "a lock").isEmpty {
                _ = try vault.makeFile("file \(milliseconds)", [1, 2, 3])
                let disk = Condition((isReached: false, mayGo: false))
                test.directory.observe { call, _ in
                    guard call == .dataSync else { return }
                    disk.update { $0.isReached = true }
                    disk.wait { $0.mayGo ? () : nil }
                }
                let first = try Thread.start("first") { try? vault.commit() }
                disk.wait { $0.isReached ? () : nil }
                log.start()
                let second = try Thread.start("second") { try? vault.commit() }
                pause(milliseconds: milliseconds)
                disk.update { $0.mayGo = true }
                first.join()
                second.join()
                log.stop()
            }
            #expect(log.times(of: "a lock").count == 1, "\(log.lines)")
            #expect(log.times(of: "a lock").allSatisfy { $0 > 100 })
        }
    }

    /// A commit to a slow disk says that it waited for the disk.
    @Test func aSlowDisk() async throws {
        await #expect(processExitsWith: .success) {
            let test = try TestVault.create()
            let vault = try test.open()
            let log = LoggedWaits()
            _ = try vault.makeFile("file", [1, 2, 3])
            test.directory.observe { call, _ in if call == .dataSync { pause(milliseconds: 120) } }
            log.start()
            try vault.commit()
            log.stop()
            #expect(!log.times(of: "the disk").isEmpty, "\(log.lines)")
            #expect(log.times(of: "the disk").allSatisfy { $0 > 100 })
        }
    }
}

/// Sleeps.
private func pause(milliseconds: Int64) {
    _ = Condition(()).wait(nanoseconds: milliseconds * 1_000_000) { _ in nil as Void? }
}

/// The waits that the debug log told.
private final class LoggedWaits: Sendable {
    private let kept = Condition<[String]>([])

    var lines: [String] { kept.withLock { $0 } }

    /// How long the waits for something took, in milliseconds.
    func times(of obstacle: String) -> [Double] {
        lines.compactMap { line in
            guard line.hasPrefix("waited "), line.hasSuffix(" ms for \(obstacle)") else { return nil }
            return Double(line.split(separator: " ")[1])
        }
    }

    func start() {
        DebugLog.start(.debug) { [kept] _, subject, text in
            if subject == .wait { kept.withLock { $0.append(text) } }
        }
    }

    func stop() { DebugLog.stop() }
}
