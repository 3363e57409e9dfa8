import CofferSystem
import Testing

/// The debug log, which the whole process has in common: one test at a time.
@Suite(.serialized) struct DebugLogTests {
    private typealias Line = (level: DebugLog.Level, text: String)

    private enum Word: String, LogWord {
        case one = "the first"
    }

    private enum Failure: Error {
        case plain
        case named(String)
    }

    /// The lines that `body` logs, except those of other tests.
    private func lines(_ level: DebugLog.Level?, _ body: () throws -> Void) rethrows -> [Line] {
        let lines = Condition<[Line]>([])
        if let level {
            DebugLog.start(level) { level, subject, text in
                if subject == .control || subject == .wait { lines.update { $0.append((level, text)) } }
            }
        }
        defer { DebugLog.stop() }
        try body()
        return lines.withLock { $0 }
    }

    @Test func offByDefault() {
        func text() -> LogText {
            Issue.record("the text was made")
            return ""
        }
        #expect(!DebugLog.isOn(.error))
        DebugLog.log(.error, .control, text())
        #expect(lines(nil) { DebugLog.waiting(for: .disk) {} }.isEmpty)
    }

    @Test func levels() {
        let found = lines(.info) {
            for level in DebugLog.Level.allCases { DebugLog.log(level, .control, "a line") }
        }
        #expect(found.map(\.level) == [.error, .warning, .info])
        #expect(!DebugLog.isOn(.error), "it was turned off again")
    }

    @Test func texts() {
        let number = UInt16(7)
        let error = SystemError("open", code: 2, on: "/home/ann/secret")
        let found = lines(.trace) {
            DebugLog.log(.trace, .control, "\(number) of \(Int64.max), \(Word.one)")
            DebugLog.log(.trace, .control, "\(nanoseconds: 1_250_000) and \(Duration.milliseconds(1500))")
            DebugLog.log(.trace, .control, "\(id: 0x0012_3456_789a_bcde)")
            DebugLog.log(.trace, .control, "\(error)")
            DebugLog.log(.trace, .control, "\(kindOf: Failure.named("secret")), \(kindOf: Failure.plain)")
        }
        #expect(
            found.map(\.text) == [
                "7 of 9223372036854775807, the first", "1.3 ms and 1500.0 ms", "00123456",
                "a system call failed with errno 2", "Failure.named, Failure",
            ])
    }

    @Test func slowWaits() {
        let found = lines(.debug) {
            DebugLog.waiting(for: .lock) {}
            let gate = Condition(false)
            DebugLog.waiting(for: .disk) { _ = gate.wait(nanoseconds: 120_000_000) { $0 ? true : nil } }
            #expect(throws: Failure.self) {
                try DebugLog.waiting(for: .names) { () throws(Failure) in
                    _ = gate.wait(nanoseconds: 120_000_000) { $0 ? true : nil }
                    throw .plain
                }
            }
        }.filter {
            $0.text.hasSuffix("for the disk") || $0.text.hasSuffix("for names that an incoming change holds")
        }
        #expect(found.count == 2, "\(found)")
        // At a level that has no waits, no clock is read.
        #expect(lines(.info) { DebugLog.waiting(for: .disk) {} }.isEmpty)
    }
}
