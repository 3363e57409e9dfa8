internal import Foundation

/// An OpenSSH server on this machine, with keys of its own, that lets this user in by a key.
package final class SSHServer: Sendable {
    /// The name of the program.
    private static let program = "sshd"

    /// Whether this machine has the server, and its client.
    package static let isThere =
        LocalServer.has(program) && LocalServer.has("ssh") && LocalServer.has("ssh-keygen")

    /// The port of the server, at 127.0.0.1.
    package let port: Int
    /// A directory with the program "ssh", which uses the keys of this server's clients.
    package let programs: String
    /// The directory that sessions begin in, by its path; anything else on this machine can be named as well.
    package let root: String
    /// The file of the hosts that the client knows.
    package let knownHosts: String
    private let home: String
    private let server: LocalServer

    /// Starts a server, and waits until it serves.
    ///
    /// - Parameter denied: Requests that the server says not to have, as "sftp-server -P" names them.
    package init(denied: [String] = []) throws {
        var result: (server: LocalServer, home: String, port: Int)?
        for _ in 0..<5 where result == nil {
            let port = try LocalServer.freePort()
            let home = try LocalServer.makeDirectory()
            try Self.prepare(home, port, denied)
            let path = LocalServer.path(of: Self.program) ?? Self.program
            let server = try LocalServer([path, "-D", "-e", "-f", "\(home)/sshd_config"], in: home)
            let isServing = try? server.wait { $0.contains("Server listening") ? true : nil }
            if isServing == true { result = (server, home, port) }
        }
        guard let result else { throw LocalServer.Failure(description: "sshd does not start") }
        (server, home, port) = (result.server, result.home, result.port)
        (programs, root) = ("\(result.home)/programs", "\(result.home)/root")
        knownHosts = "\(result.home)/known_hosts"
    }

    /// The user whom the server lets in.
    package static var user: String { NSUserName() }

    /// The program that clients use in the place of ssh.
    package var client: String { "\(programs)/ssh" }

    /// Ends all connections.
    package func cutConnections() {
        for process in LocalServer.processes(with: "sftp-server -d \(root)") { kill(process, SIGKILL) }
    }

    /// A client with a key that the server does not know.
    package func stranger() throws -> String {
        try Self.makeClient(home, "stranger", port)
    }

    private static func prepare(_ home: String, _ port: Int, _ denied: [String]) throws {
        for name in ["root", "programs"] {
            try FileManager.default.createDirectory(
                atPath: "\(home)/\(name)", withIntermediateDirectories: false)
        }
        let script = """
            set -e; cd "$0"
            [ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
            for name in host user stranger; do ssh-keygen -q -t ed25519 -N '' -C "" -f "$name"; done
            cp user.pub authorized_keys
            printf '[127.0.0.1]:%s %s\\n' "$1" "$(cat host.pub)" > known_hosts
            """
        guard LocalServer.canRun(["sh", "-c", script, home, String(port)]) else {
            throw LocalServer.Failure(description: "ssh-keygen makes no keys")
        }
        let paths = [
            "/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server",
        ]
        let sftp = paths.first { FileManager.default.isExecutableFile(atPath: $0) } ?? paths[0]
        let without = denied.isEmpty ? "" : " -P \(denied.joined(separator: ","))"
        let text = """
            ListenAddress 127.0.0.1
            Port \(port)
            HostKey \(home)/host
            AuthorizedKeysFile \(home)/authorized_keys
            PidFile none
            StrictModes no
            UsePAM no
            PasswordAuthentication no
            KbdInteractiveAuthentication no
            PermitRootLogin yes
            MaxStartups 200
            Subsystem sftp \(sftp) -d \(home)/root\(without)

            """
        try text.write(toFile: "\(home)/sshd_config", atomically: true, encoding: .utf8)
        let client = try makeClient(home, "user", port)
        try FileManager.default.moveItem(atPath: client, toPath: "\(home)/programs/ssh")
    }

    /// Writes a program that is ssh with a configuration of its own, as ssh finds that by the user's number alone.
    private static func makeClient(_ home: String, _ key: String, _ port: Int) throws -> String {
        let configuration = """
            Host coffer-alias
                HostName 127.0.0.1
                Port \(port)
            Host *
                IdentityFile \(home)/\(key)
                IdentitiesOnly yes
                IdentityAgent none
                User \(user)
                UserKnownHostsFile \(home)/known_hosts
                GlobalKnownHostsFile /dev/null

            """
        try configuration.write(toFile: "\(home)/\(key).config", atomically: true, encoding: .utf8)
        let ssh = LocalServer.path(of: "ssh") ?? "ssh"
        let program = "#!/bin/sh\nexec \(ssh) -F '\(home)/\(key).config' \"$@\"\n"
        let path = "\(home)/\(key).ssh"
        // Not by this process: one that another thread starts meanwhile would hold the file open for writing, and nobody
        // could execute it.
        let script = #"printf %s "$1" > "$0" && chmod 755 "$0""#
        guard LocalServer.canRun(["sh", "-c", script, path, program]) else {
            throw LocalServer.Failure(description: "\(path) could not be written")
        }
        return path
    }
}
