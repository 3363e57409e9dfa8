internal import CCofferSystem
internal import CofferClient
internal import CofferSystem
internal import Glibc
internal import Synchronization

/// A bar on standard error for work that takes longer than a second; silent where that is no terminal.
final class ProgressBar: Sendable {
    private static let second: Int64 = 1_000_000_000
    private let label: String
    private let started = Clock.monotonic
    /// When it was last drawn; 0 if it never was.
    private let drawn = Mutex<Int64>(0)
    private let isTerminal = isatty(STDERR_FILENO) == 1

    init(_ label: String) {
        self.label = label
    }

    func show(_ progress: Progress) {
        let now = Clock.monotonic
        guard isTerminal, now - started > Self.second, progress.total > 0 else { return }
        let isDue = drawn.withLock { drawn in
            guard now - drawn > Self.second / 10 else { return false }
            drawn = now
            return true
        }
        guard isDue else { return }
        let columns = max(20, Int(coffer_terminal_columns(STDERR_FILENO)))
        let share = min(1, Double(progress.done) / Double(progress.total))
        let width = max(10, min(40, columns - label.count - 10))
        let full = Int(share * Double(width))
        let bar = String(repeating: "#", count: full) + String(repeating: "-", count: width - full)
        Output.write("\r\(label) [\(bar)] \(Int(share * 100)) %", to: STDERR_FILENO)
    }

    /// Clears the line.
    func end() {
        if drawn.withLock({ $0 }) > 0 { Output.write("\r\u{1b}[K", to: STDERR_FILENO) }
    }
}
