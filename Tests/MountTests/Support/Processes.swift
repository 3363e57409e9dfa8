import Foundation
import Synchronization

/// Inspects processes.
enum Processes {
    /// Waits until a condition holds, for three minutes at most.
    @discardableResult
    static func waitUntil(seconds: Int = 180, _ condition: () throws -> Bool) rethrows -> Bool {
        for _ in 0..<seconds * 50 {
            if try condition() { return true }
            usleep(20_000)
        }
        return try condition()
    }

    @discardableResult
    static func waitUntilGone(_ process: pid_t) -> Bool {
        waitUntil { !isAlive(process) }
    }

    /// Whether a process exists and is no zombie.
    static func isAlive(_ process: pid_t) -> Bool {
        let fields = statistics(process)
        return !fields.isEmpty && fields[0] != "Z"
    }

    /// The processor time that a process has used in user and kernel mode, in ticks.
    static func ticks(_ process: pid_t) -> Int {
        let fields = statistics(process)
        guard fields.count > 12 else { return 0 }
        return (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)
    }

    /// The fields of /proc/PID/stat after the name, beginning with the state.
    private static func statistics(_ process: pid_t) -> [Substring] {
        guard let text = try? Files.text("/proc/\(process)/stat"), let end = text.lastIndex(of: ")") else {
            return []
        }
        return text[text.index(after: end)...].split(separator: " ")
    }

    /// A line of /proc/PID/limits.
    static func limit(_ process: pid_t, _ name: String) throws -> String? {
        try Files.text("/proc/\(process)/limits").split(separator: "\n").first { $0.hasPrefix(name) }.map(
            String.init)
    }
}

/// Kills a mount that hangs, so that the tests that wait for it fail instead of waiting forever.
final class Watchdog: Sendable {
    private static let patience = Duration.seconds(600)
    private let guarded = Mutex<pid_t?>(nil)

    /// Watches a process, or none; restarts the wait.
    func guards(_ process: pid_t?) {
        guarded.withLock { $0 = process }
        guard let process else { return }
        let thread = Thread { [weak self] in
            let end = ContinuousClock.now + Self.patience
            while ContinuousClock.now < end {
                sleep(1)
                guard let self, self.guarded.withLock({ $0 == process }) else { return }
            }
            kill(process, SIGKILL)
        }
        thread.start()
    }
}
