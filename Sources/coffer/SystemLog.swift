internal import CCofferSystem

/// The system's log, which outlives a mount and is not encrypted: it learns that there is a problem, and
/// “coffer status” tells which.
enum SystemLog {
    static let notice = "A problem was met; “coffer status” tells more."

    static func report(_ problem: String) {
        unsafe coffer_log_warning(notice)
    }
}
