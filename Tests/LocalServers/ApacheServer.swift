internal import Foundation

/// An Apache server with mod_dav on this machine, with its own document root.
///
/// It serves the directory as /open to everybody, as /digest and /basic to the user "me" with the password
/// "secret", as /protected to everybody read-only, and all of these over TLS as well.
package final class ApacheServer: Sendable {
    /// The name of the program.
    private static let program = "apache2"
    /// Debian's directory for its modules.
    private static let modules = "/usr/lib/apache2/modules"

    /// Whether this machine has the server, and the program that makes its certificates.
    package static let isThere =
        LocalServer.has(program) && FileManager.default.fileExists(atPath: "\(modules)/mod_dav.so")
        && LocalServer.has("openssl") && canReachFiles

    /// Whether every user can reach the directory for temporary files: if root starts Apache, it becomes www-data.
    private static var canReachFiles: Bool {
        var directory = FileManager.default.temporaryDirectory.standardizedFileURL
        while directory.path != "/" {
            var status = stat()
            guard stat(directory.path, &status) == 0, status.st_mode & 0o001 != 0 else { return false }
            directory.deleteLastPathComponent()
        }
        return true
    }

    /// The directory that is served.
    package let root: String
    /// The port of http.
    package let port: Int
    /// The port of https.
    package let securePort: Int
    /// The certificate of the authority that issued the server's certificate (PEM).
    package let authority: String
    private let server: LocalServer

    /// Starts a server, and waits until it serves.
    package init() throws {
        // Another process may take a port between the choice and the start.
        var result: (server: LocalServer, home: String, port: Int, securePort: Int)?
        for _ in 0..<5 where result == nil {
            let (port, securePort) = (try LocalServer.freePort(), try LocalServer.freePort())
            let home = try LocalServer.makeDirectory()
            try FileManager.default.createDirectory(
                atPath: "\(home)/root", withIntermediateDirectories: false)
            let text = Self.configuration(home, port, securePort)
            try text.write(toFile: "\(home)/httpd.conf", atomically: true, encoding: .utf8)
            try Self.makeCertificates(in: home)
            let path = LocalServer.path(of: Self.program) ?? Self.program
            let command = [path, "-D", "FOREGROUND", "-f", "\(home)/httpd.conf"]
            let server = try LocalServer(command, in: home)
            let isServing = try? server.wait { _ in
                let log = (try? String(contentsOfFile: "\(home)/log", encoding: .utf8)) ?? ""
                return log.contains("resuming normal operations") ? true : nil
            }
            if isServing == true { result = (server, home, port, securePort) }
        }
        guard let result else { throw LocalServer.Failure(description: "Apache does not start") }
        (server, port, securePort) = (result.server, result.port, result.securePort)
        root = "\(result.home)/root"
        authority = "\(result.home)/authority.pem"
    }

    private static func configuration(_ home: String, _ port: Int, _ secure: Int) -> String {
        let modules = [
            "mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "auth_digest",
            "dav", "dav_fs", "dav_lock", "ssl", "socache_shmcb", "alias",
        ]
        let load = modules.map { "LoadModule \($0)_module \(Self.modules)/mod_\($0).so" }
        let aliases = ["open", "digest", "basic", "protected"].map { "Alias /\($0) \(home)/root" }
        return """
            \(load.joined(separator: "\n"))
            ServerRoot \(home)
            ServerName 127.0.0.1
            PidFile \(home)/pid
            Listen 127.0.0.1:\(port)
            Listen 127.0.0.1:\(secure)
            ErrorLog \(home)/log
            LogLevel notice
            User www-data
            Group www-data
            DavLockDB \(home)/root/../locks
            Mutex file:\(home) default
            KeepAliveTimeout 60
            MaxKeepAliveRequests 0
            # One process: those that Apache ends when there is less to do cut connections.
            ServerLimit 1
            StartServers 1
            ThreadsPerChild 64
            MaxRequestWorkers 64
            MinSpareThreads 1
            MaxSpareThreads 64
            DocumentRoot \(home)/root
            \(aliases.joined(separator: "\n"))
            <Directory \(home)/root>
                Dav On
                AllowOverride None
            </Directory>
            <Location /open>
                Require all granted
            </Location>
            <Location /protected>
                <LimitExcept GET HEAD OPTIONS PROPFIND>
                    Require all denied
                </LimitExcept>
            </Location>
            <Location /basic>
                AuthType Basic
                AuthName coffer
                AuthUserFile \(home)/basic
                Require valid-user
            </Location>
            <Location /digest>
                AuthType Digest
                AuthName coffer
                AuthUserFile \(home)/digest
                Require valid-user
            </Location>
            <VirtualHost 127.0.0.1:\(secure)>
                SSLEngine on
                SSLCertificateFile \(home)/server.pem
                SSLCertificateKeyFile \(home)/server.key
            </VirtualHost>

            """
    }

    /// An authority, its certificate for 127.0.0.1, and the passwords of the user.
    private static func makeCertificates(in home: String) throws {
        // SHA-1 of "secret" in base64, as htpasswd -s writes it.
        try "me:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n".write(
            toFile: "\(home)/basic", atomically: true, encoding: .utf8)
        let script = """
            set -e; cd "$0"
            chmod 755 . ; chown -R www-data . 2>/dev/null || true
            printf 'me:coffer:%s\\n' "$(printf me:coffer:secret | openssl md5 -r | cut -d' ' -f1)" > digest
            openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=authority \\
                -keyout authority.key -out authority.pem
            openssl req -new -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -keyout server.key -out server.csr
            printf 'subjectAltName=IP:127.0.0.1\\n' > extensions
            openssl x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 30 \\
                -extfile extensions -out server.pem
            """
        guard LocalServer.canRun(["sh", "-c", script, home]) else {
            throw LocalServer.Failure(description: "openssl makes no certificates")
        }
    }
}
