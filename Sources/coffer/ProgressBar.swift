internal import CCofferSystem
internal import CofferClient
internal import CofferSystem
internal import Glibc
internal import Synchronization

private let second: Int64 = 1_000_000_000

/// A line on standard error for work that takes longer than a second; only on a terminal.
final class ProgressBar: Sendable {
    private let label: String
    private let started = Clock.monotonic
    private let drawing = Mutex(Drawing())
    private let isTerminal = isatty(STDERR_FILENO) == 1

    private struct Drawing {
        /// The time of the last drawing; 0 before the first.
        var drawn: Int64 = 0
        /// Recent byte counts, for the speed.
        var samples: [(time: Int64, bytes: Int64)] = []
        /// The time when the first bytes moved.
        var began: Int64 = 0
        /// The last note that was printed.
        var note: String?

        /// The bytes per second over the last three seconds; 0 until bytes have moved for that long, as the first
        /// ones say little.
        mutating func speed(at now: Int64, _ bytes: Int64) -> Int64 {
            if bytes == 0 || samples.isEmpty { began = now }
            samples.append((now, bytes))
            while samples.count > 2, now - samples[1].time > 3 * second { samples.removeFirst() }
            let time = now - samples[0].time
            return now - began < 3 * second || time < second / 2
                ? 0 : (bytes - samples[0].bytes) * 1000 / max(time / 1_000_000, 1)
        }
    }

    init(_ label: String) {
        self.label = label
    }

    func show(_ progress: Progress) {
        if let note = progress.note { tell(note) }
        let now = Clock.monotonic
        guard isTerminal, now - started > second else { return }
        let speed: Int64? = drawing.withLock { drawing in
            guard now - drawing.drawn > second / 10 else { return nil }
            drawing.drawn = now
            if let transfer = progress.transfer {
                return drawing.speed(at: now, transfer.sent + transfer.received)
            }
            return progress.isBytes ? drawing.speed(at: now, Int64(progress.done)) : 0
        }
        guard let speed else { return }
        let columns = max(20, Int(coffer_terminal_columns(STDERR_FILENO)))
        let text = Self.text(progress, label, speed: speed, elapsed: now - started, columns: columns)
        Output.write("\r\(text.prefix(columns - 1))\u{1b}[K", to: STDERR_FILENO)
    }

    /// Prints what the work waits for, once; also without a terminal, because the wait may be long.
    private func tell(_ note: String) {
        let isNew = drawing.withLock { drawing in
            defer { drawing.note = note }
            return drawing.note != note
        }
        guard isNew else { return }
        end()
        Output.error("\(label): \(note).")
    }

    /// The text of the line.
    static func text(
        _ progress: Progress, _ label: String, speed: Int64, elapsed: Int64, columns: Int
    ) -> String {
        if let transfer = progress.transfer {
            let parts = [
                transfer.sent > 0 ? "\(Output.bytes(transfer.sent)) sent" : nil,
                transfer.received > 0 ? "\(Output.bytes(transfer.received)) fetched" : nil,
                speed > 0 ? "\(Output.bytes(speed))/s" : nil,
                transfer.left > 0 ? "\(Output.bytes(transfer.left)) to send" : nil,
                transfer.left > 0
                    ? TimeText.of(transfer.left, at: speed)
                    : TimeText.of(transfer.commits, after: progress.done, in: elapsed),
                transfer.items > 0 ? "\(transfer.items) item\(transfer.items == 1 ? "" : "s") to send" : nil,
                transfer.commits > 0
                    ? "\(transfer.commits) commit\(transfer.commits == 1 ? "" : "s") to apply" : nil,
                transfer.left == 0 && transfer.items == 0 && transfer.commits == 0 ? transfer.activity : nil,
            ].compactMap { $0 }
            return parts.isEmpty ? "\(label) …" : "\(label): \(parts.joined(separator: ", "))"
        }
        guard progress.total > 0 else { return "\(label) …" }
        let share = min(1, Double(progress.done) / Double(progress.total))
        var figures = ""
        if progress.isBytes {
            let left = TimeText.of(Int64(progress.total - progress.done), at: speed)
            figures = [
                "\(Output.bytes(Int64(progress.done))) of \(Output.bytes(Int64(progress.total)))",
                speed > 0 ? "\(Output.bytes(speed))/s" : nil, left,
            ].compactMap { $0 }.reduce("") { "\($0), \($1)" }
        }
        let width = max(10, min(40, columns - label.count - 10 - figures.count))
        let full = Int(share * Double(width))
        let bar = String(repeating: "#", count: full) + String(repeating: "-", count: width - full)
        return "\(label) [\(bar)] \(Int(share * 100)) %\(figures)"
    }

    /// Clears the line.
    func end() {
        if drawing.withLock({ $0.drawn }) > 0 { Output.write("\r\u{1b}[K", to: STDERR_FILENO) }
    }
}
