internal import CCofferSystem
internal import Glibc

/// Tells a service manager the state of this process.
///
/// Uses the protocol of sd_notify(3): lines of `NAME=value`, all in one datagram, sent to the socket that the
/// manager names in the environment.
package struct ServiceNotifier: Sendable {
    /// The states that a service reports.
    package enum State: Sendable, Equatable {
        /// The service does its work from now on.
        case ready
        /// The service is about to end.
        case stopping
    }

    /// The socket: a path, or “@” and a name in the abstract namespace.
    private let address: String

    /// Reads NOTIFY_SOCKET from the environment.
    ///
    /// - Returns: nil if it is not set, so that no manager is listening.
    package init?(_ environment: (String) -> String?) {
        guard let address = environment("NOTIFY_SOCKET"), !address.isEmpty else { return nil }
        self.address = address
    }

    /// Reports a state.
    ///
    /// - Parameter status: A line for people to read, as in “systemctl status”.
    /// - Throws: EAFNOSUPPORT if the address is not that of a Unix socket, ENAMETOOLONG, or the error of
    ///   sendto(2). The service can go on without the report.
    package func send(_ state: State, status: String) throws(SystemError) {
        guard address.hasPrefix("/") || address.hasPrefix("@") else {
            throw SystemError("notify", code: EAFNOSUPPORT, on: address)
        }
        let text = Array(Self.message(state, status).utf8CString)
        try checkingNegative("notify", on: address) {
            // SAFETY: the array ends with a NUL, which is not sent.
            unsafe coffer_send_datagram(address, text, text.count - 1)
        }
    }

    /// The datagram's text; line breaks in `status` become blanks, since they would begin another assignment.
    private static func message(_ state: State, _ status: String) -> String {
        let line = String(status.map { $0.isNewline ? " " : $0 })
        let word = state == .ready ? "READY=1" : "STOPPING=1"
        return "\(word)\nSTATUS=\(line)\n"
    }
}
