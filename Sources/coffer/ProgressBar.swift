internal import CCofferSystem
internal import CofferClient
internal import CofferSystem
internal import Glibc

/// A bar on standard error for work that takes longer than a second; silent where that is no terminal.
final class ProgressBar {
    private static let second: Int64 = 1_000_000_000
    private let label: String
    private let started = Clock.monotonic
    private var drawn: Int64 = 0
    private let isTerminal = isatty(STDERR_FILENO) == 1

    init(_ label: String) {
        self.label = label
    }

    func show(_ progress: Progress) {
        let now = Clock.monotonic
        guard isTerminal, now - started > Self.second, now - drawn > Self.second / 10, progress.total > 0
        else { return }
        drawn = now
        let columns = max(20, Int(coffer_terminal_columns(STDERR_FILENO)))
        let share = min(1, Double(progress.done) / Double(progress.total))
        let width = max(10, min(40, columns - label.count - 10))
        let full = Int(share * Double(width))
        let bar = String(repeating: "#", count: full) + String(repeating: "-", count: width - full)
        Output.write("\r\(label) [\(bar)] \(Int(share * 100)) %", to: STDERR_FILENO)
    }

    /// Clears the line.
    func end() {
        if drawn > 0 { Output.write("\r\u{1b}[K", to: STDERR_FILENO) }
    }
}
