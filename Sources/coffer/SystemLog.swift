internal import CCofferSystem

/// The system's log, which outlives a mount and is not encrypted.
///
/// It only gets the notice that there is a problem; `coffer status` shows which.
enum SystemLog {
    static let notice = "A problem occurred. See: coffer status"

    static func report(_ problem: String) {
        unsafe coffer_log_warning(notice)
    }
}
