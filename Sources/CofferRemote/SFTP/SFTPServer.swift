internal import CofferSystem

/// How to reach a server: by a program that passes packets on, and that knows keys and hosts.
struct SFTPServer: Sendable {
    /// The program and its arguments.
    var command: [String]
    /// Its environment.
    let environment: [String: String]
    /// For messages: the host, or rclone's remote.
    let name: String
    /// How many requests of one file are under way at a time.
    let window: Int
    /// How long a server may take for one whole answer, in seconds.
    let patience: Int64
    /// What the program's end means, by what it has said before.
    let explain: @Sendable (_ lines: [String]) -> RemoteError
    /// What it means if the program cannot be started.
    let missing: RemoteError
    /// How many names a directory may have, and how many directories a walk sees, so that a listing ends, whatever
    /// a server says.
    var nameCountMax = 2_000_000, directoryCountMax = 20_000
    /// Whether what was opened stays the same object when its name is given to another one.
    var readsOneVersion = true
    /// What the place lacks, whatever the program says.
    var shortcomings: [String] = []

    /// How long it may take until the server has told its version, in seconds.
    static let greetingPatience: Int64 = 90
}

extension SFTPServer {
    /// OpenSSH's client, as the user has set it up: keys, agent, jump hosts, aliases, known hosts.
    ///
    /// A host whose key is unknown or has changed is never accepted, and nothing is asked. What of this is set by
    /// options does not reach the jump hosts, which ssh starts itself; they get the environment, and no terminal.
    static func ssh(_ url: SFTPURL, _ variables: [String: String], program: String = "ssh") -> SFTPServer {
        let options = [
            "BatchMode=yes", "StrictHostKeyChecking=yes", "UpdateHostKeys=no", "ControlMaster=no",
            "ControlPath=none", "ControlPersist=no", "ServerAliveInterval=15", "ServerAliveCountMax=4",
            "ConnectTimeout=20", "ForwardAgent=no", "ForwardX11=no", "ClearAllForwardings=yes",
            "PermitLocalCommand=no", "RemoteCommand=none", "RequestTTY=no", "Tunnel=no", "LogLevel=ERROR",
            "EscapeChar=none",
        ]
        var command = [program, "-T"] + options.flatMap { ["-o", $0] }
        if let port = url.port { command += ["-p", String(port)] }
        if let user = url.user { command += ["-l", user] }
        command += ["-s", "--", url.host, "sftp"]
        var environment = withoutOwn(variables)
        for name in ["SSH_ASKPASS", "DISPLAY", "WAYLAND_DISPLAY"] { environment[name] = nil }
        environment["SSH_ASKPASS_REQUIRE"] = "never"
        // The messages are read.
        environment["LC_ALL"] = "C"
        return SFTPServer(
            command: command, environment: environment, name: url.host, window: 64, patience: 120,
            explain: { SSHComplaint.meaning(of: $0, url) },
            missing: .unsupported("ssh is not installed; install OpenSSH's client (Debian: openssh-client)"))
    }

    /// The variables without those of Coffer, which may be secrets.
    private static func withoutOwn(_ variables: [String: String]) -> [String: String] {
        variables.filter { !$0.key.hasPrefix("COFFER_") }
    }

    /// The user's rclone, which passes on sealed objects to any service that it knows.
    ///
    /// Without a cache of files, rclone uploads while a file is written, and says at its close whether that has
    /// succeeded. Requests for a file come one by one, as rclone reads and writes in order; what is under way
    /// towards the service is rclone's business, and so are its time-outs and repetitions: an upload may take as
    /// long as it takes.
    static func rclone(
        _ url: RcloneURL, _ variables: [String: String], program: String = "rclone"
    ) -> SFTPServer {
        let flags = [
            "--vfs-cache-mode", "off", "--dir-cache-time", "0s", "--poll-interval", "0",
            "--use-server-modtime", "--ask-password=false",
        ]
        var environment = withoutOwn(variables)
        // Its messages would go elsewhere.
        environment["RCLONE_LOG_FILE"] = nil
        return SFTPServer(
            command: [program, "serve", "sftp", "--stdio"] + flags + ["--", url.place],
            environment: environment,
            name: "rclone remote \(url.remote)", window: 1, patience: 1800,
            explain: { RcloneComplaint.meaning(of: $0, url) },
            missing: .unsupported("rclone is not installed; \(url.text) needs it (rclone.org)"),
            readsOneVersion: false,
            shortcomings: [
                """
                rclone cannot promise that one of two devices that store the same object at once fails; with most \
                services, both may succeed. Coffer keeps all contents, but if two admins change the members at \
                once, it may report two histories. Nor does rclone replace an object in one step: while a key is \
                replaced, other devices may find it missing for a moment, and look again.
                """
            ])
    }
}
