internal import CCofferSystem
internal import CofferSystem
internal import Glibc

/// The system's log, which outlives a mount and is not encrypted.
enum SystemLog {
    /// All that it gets of a problem; `coffer status` shows which.
    static let notice = "A problem occurred. See: coffer status"

    static func report(_ problem: String) {
        unsafe coffer_log(LOG_WARNING, notice)
    }

    /// Writes a line of the debug log, which contains no names.
    static func write(_ level: DebugLog.Level, _ subject: DebugLog.Subject, _ text: String) {
        let priority =
            switch level {
            case .error: LOG_ERR
            case .warning: LOG_WARNING
            case .info: LOG_INFO
            case .debug, .trace: LOG_DEBUG
            }
        unsafe coffer_log(priority, "\(subject.rawValue): \(text)")
    }
}
