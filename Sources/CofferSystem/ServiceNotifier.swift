internal import CCofferSystem
internal import Glibc

/// Tells a service manager how this process is doing.
///
/// The protocol is that of sd_notify(3): lines of `NAME=value`, all in one datagram, sent to the socket that the
/// manager names in the environment.
package struct ServiceNotifier: Sendable {
    /// What there is to tell.
    package enum State: Sendable, Equatable {
        /// The service does its work from now on.
        case ready
        /// The service is about to end.
        case stopping
    }

    /// The socket: a path, or “@” and a name in the abstract namespace.
    private let address: String

    /// Reads NOTIFY_SOCKET.
    ///
    /// - Returns: nil where no manager wants to hear.
    package init?(_ environment: (String) -> String?) {
        guard let address = environment("NOTIFY_SOCKET"), !address.isEmpty else { return nil }
        self.address = address
    }

    /// Tells of a state.
    ///
    /// - Parameter status: A line for people to read, as in “systemctl status”.
    /// - Throws: EAFNOSUPPORT where the address is of another kind than Unix sockets, ENAMETOOLONG, or what
    ///   sendto(2) fails with. The service can go on without.
    package func send(_ state: State, status: String) throws(SystemError) {
        guard address.hasPrefix("/") || address.hasPrefix("@") else {
            throw SystemError("notify", code: EAFNOSUPPORT, on: address)
        }
        let text = Array(Self.message(state, status).utf8CString)
        try checkingNegative("notify", on: address) {
            // SAFETY: the array ends with the NUL that is not sent.
            unsafe coffer_send_datagram(address, text, text.count - 1)
        }
    }

    /// A line break would begin another assignment.
    private static func message(_ state: State, _ status: String) -> String {
        let line = String(status.map { $0.isNewline ? " " : $0 })
        let word = state == .ready ? "READY=1" : "STOPPING=1"
        return "\(word)\nSTATUS=\(line)\n"
    }
}
