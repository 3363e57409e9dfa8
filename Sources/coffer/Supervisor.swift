internal import CofferSystem
internal import Glibc

/// Reports the state of a mount in the foreground to a service manager, or to a person at the terminal.
struct Supervisor: Sendable {
    private let notifier: ServiceNotifier?
    /// Whether standard error goes to a log, which outlives the mount and is not encrypted.
    private let isLogged: Bool

    init(_ environment: (String) -> String?) {
        notifier = ServiceNotifier(environment)
        isLogged = notifier != nil || environment("JOURNAL_STREAM") == Self.standardError
    }

    /// The device and inode of standard error, in the form of JOURNAL_STREAM.
    ///
    /// The variable alone proves nothing, because terminals inherit it.
    private static var standardError: String? {
        var status = stat()
        guard unsafe fstat(STDERR_FILENO, &status) == 0 else { return nil }
        return "\(status.st_dev):\(status.st_ino)"
    }

    func serving(at path: String, problems: [String]) {
        let count = problems.count
        let rest = count == 0 ? "" : " Problems: \(count). See: coffer status"
        tell(.ready, "Vaults are served at \(path).\(rest)")
    }

    func locked() {
        tell(.ready, "The profile is locked. See: coffer unlock")
    }

    func ending() {
        tell(.stopping, "Storing the last changes.")
    }

    /// Prints a problem; a log gets only a notice, because problems may name files.
    func report(_ problem: String) {
        Output.error("coffer: \(isLogged ? SystemLog.notice : problem)")
    }

    private func tell(_ state: ServiceNotifier.State, _ status: String) {
        guard let notifier else { return }
        do throws(SystemError) { try notifier.send(state, status: status) } catch {
            Output.error("coffer: The service manager could not be notified of the mount's state: \(error).")
        }
    }
}
