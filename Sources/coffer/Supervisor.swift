internal import CofferSystem
internal import Glibc

/// Whoever watches over a mount in the foreground: a service manager, or a person at the terminal.
struct Supervisor: Sendable {
    private let notifier: ServiceNotifier?
    /// Whether standard error ends up in a log, which outlives the mount and is not encrypted.
    private let isLogged: Bool

    init(_ environment: (String) -> String?) {
        notifier = ServiceNotifier(environment)
        isLogged = notifier != nil || environment("JOURNAL_STREAM") == Self.standardError
    }

    /// As JOURNAL_STREAM has it, which terminals inherit, too: device and inode.
    private static var standardError: String? {
        var status = stat()
        guard unsafe fstat(STDERR_FILENO, &status) == 0 else { return nil }
        return "\(status.st_dev):\(status.st_ino)"
    }

    func serving(at path: String, problems: [String]) {
        let count = problems.count
        let rest = count == 0 ? "" : " Problems: \(count); “coffer status” tells more."
        tell(.ready, "Vaults are served at \(path).\(rest)")
    }

    func ending() {
        tell(.stopping, "Everything is being stored.")
    }

    /// Problems name files; a log learns only that there are any.
    func report(_ problem: String) {
        Output.error("coffer: \(isLogged ? SystemLog.notice : problem)")
    }

    private func tell(_ state: ServiceNotifier.State, _ status: String) {
        guard let notifier else { return }
        do throws(SystemError) { try notifier.send(state, status: status) } catch {
            Output.error("coffer: The service manager cannot be told how the mount is doing: \(error).")
        }
    }
}
