/// What ssh says when it cannot connect.
///
/// Only the beginnings of lines count: what follows may be a server's words.
enum SSHComplaint {
    /// The meaning of ssh's messages before the server has answered.
    static func meaning(of lines: [String], _ url: SFTPURL) -> RemoteError {
        let ssh = "ssh \(url.arguments)"
        let host = url.port.map { "[\(url.host)]:\($0)" } ?? url.host
        for line in lines {
            if line.hasPrefix("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!") {
                return .refused(
                    """
                    the host key of \(url.host) has changed. Somebody may be in between, or the server has a new \
                    key. If its owner confirms the new key: ssh-keygen -R '\(host)', then \(ssh) and compare
                    """)
            }
            if line.hasPrefix("No "), line.contains(" host key is known for ") {
                return .refused(
                    """
                    the host key of \(url.host) is not known. Run \(ssh) once, compare the fingerprint that it \
                    shows with the server's, and answer yes
                    """)
            }
            if line.hasPrefix("Host key verification failed") {
                return .refused("the host key of \(url.host) could not be verified; run \(ssh) to see why")
            }
            if isDenied(line) {
                return .refused(
                    """
                    \(url.host) does not let this user in (\(line)). Coffer asks for no passwords: \(ssh) must \
                    work without a question, by a key without a passphrase, or one that ssh-add has loaded
                    """)
            }
            if line.hasPrefix("subsystem request failed") {
                return .unsupported("\(url.host) has no SFTP (\(line))")
            }
        }
        let last = lines.last { !$0.isEmpty } ?? "ssh has ended without a word"
        return .unreachable("\(url.host): \(last)")
    }

    /// Whether a line is like "USER@HOST: Permission denied (publickey)".
    private static func isDenied(_ line: String) -> Bool {
        guard let space = line.firstIndex(of: " "), line[..<space].hasSuffix(":") else { return false }
        return line[space...].hasPrefix(" Permission denied")
    }
}
