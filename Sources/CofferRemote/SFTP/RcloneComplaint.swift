/// What rclone says when it cannot serve.
enum RcloneComplaint {
    /// The meaning of rclone's messages before it has answered.
    static func meaning(of lines: [String], _ url: RcloneURL) -> RemoteError {
        let lines = lines.map(withoutTime)
        for line in lines {
            if line.hasPrefix("Error: unknown flag:") || line.hasPrefix("unknown flag:") {
                return .unsupported(
                    "rclone is too old for \(url.text) (\(line)); version 1.60 is known to work")
            }
            if line.hasPrefix("Failed to create file system"), line.contains("didn't find section") {
                return .refused(
                    """
                    rclone has no remote \(url.remote): make it with “rclone config”, or see “rclone listremotes”
                    """)
            }
            if line.hasPrefix("Failed to create file system") {
                return .unreachable("\(line); try: rclone lsd '\(url.remote):'")
            }
            if line.contains("config"), line.contains("password") {
                return .refused(
                    """
                    rclone's configuration, which has \(url.remote), is encrypted (\(line)): set RCLONE_CONFIG_PASS or \
                    RCLONE_PASSWORD_COMMAND where Coffer is started
                    """)
            }
        }
        let last = lines.last { !$0.isEmpty } ?? "rclone has ended without a word"
        return .unreachable("\(url.text): \(last); try: rclone lsd '\(url.remote):'")
    }

    /// A line without "2006/01/02 15:04:05 " and the level that may follow.
    private static func withoutTime(_ line: String) -> String {
        var rest = Substring(line)
        let time = rest.prefix(20)
        if time.count == 20, time.last == " ", time.allSatisfy({ "0123456789/: ".contains($0) }) {
            rest = rest.dropFirst(20)
        }
        for level in ["CRITICAL: ", "ERROR : ", "NOTICE: "] where rest.hasPrefix(level) {
            rest = rest.dropFirst(level.count)
        }
        return String(rest)
    }
}
