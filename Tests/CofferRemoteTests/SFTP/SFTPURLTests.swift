@testable import CofferRemote
import Testing

/// URLs of SFTP, and what ssh is started with.
@Suite struct SFTPURLTests {
    @Test(
        arguments: [
            ("sftp://host/srv/coffer/", "sftp://host/srv/coffer", nil, "host", nil, "/srv/coffer"),
            ("SFTP://me@Host:2222/a%20b", "sftp://me@host:2222/a%20b", "me", "host", 2222, "/a b"),
            ("sftp://host", "sftp://host", nil, "host", nil, "/"),
            ("sftp://host/~/dir", "sftp://host/~/dir", nil, "host", nil, "dir"),
            ("sftp://host/~", "sftp://host/~", nil, "host", nil, "."),
            ("sftp://[::1]:22/x", "sftp://[::1]:22/x", nil, "::1", 22, "/x"),
            ("sftp://a@b@host/x", "sftp://a@b@host/x", "a@b", "host", nil, "/x"),
            ("sftp:Alias_1:dir/sub", "sftp:Alias_1:dir/sub", nil, "Alias_1", nil, "dir/sub"),
            ("sftp:me@alias:/srv//", "sftp:me@alias:/srv", "me", "alias", nil, "/srv"),
            ("sftp:alias:", "sftp:alias:", nil, "alias", nil, "."),
            ("sftp:alias:/", "sftp:alias:/", nil, "alias", nil, "/"),
            ("sftp:alias:a:b?#", "sftp:alias:a:b?#", nil, "alias", nil, "a:b?#"),
        ] as [(String, String, String?, String, UInt16?, String)])
    func urls(
        _ text: String, _ canonical: String, _ user: String?, _ host: String, _ port: UInt16?, _ path: String
    ) throws {
        let url = try RemoteURL(text)
        #expect(url.text == canonical)
        #expect(try RemoteURL(canonical) == url)
        guard case .sftp(let parts) = url else { return #expect(url.text.isEmpty) }
        #expect(parts.user == user && parts.host == host && parts.port == port && parts.path == path)
        #expect(try url.open().describe() == "SFTP directory \(canonical)")
    }

    @Test(arguments: [
        "sftp:", "sftp:host", "sftp:/x", "sftp://", "sftp:///x", "sftp://host:x/", "sftp://host:0/",
        "sftp://ho st/",
        "sftp://a:b@host/", "sftp://@host/", "sftp://host/?x", "sftp://host/#x", "sftp://host/a//b",
        "sftp://host/../b", "sftp://host/%zz", "sftp://me%0a@host/", "sftp://-oProxyCommand=x/",
        "sftp://-x@host/",
        "sftp:-oProxyCommand=x:y", "sftp:$(id):x", "sftp:`id`@host:x", "sftp:a;b@host:x", "sftp:host:a/../b",
        "sftp:host:a//b", "sftp:host:a\nb", "sftp:me:secret@host:x", "sftp:host:a\u{9b}b",
        "sftp://host/a%C2%9Bb", "sftp://host/a%0ab", "sftp:ho\u{e4}st:x",
    ])
    func urlsThatAreNone(_ text: String) {
        #expect(throws: RemoteURL.Mistake.self) { try RemoteURL(text) }
    }

    /// Nothing of the URL is taken for an option, and no helper can ask anything.
    @Test func whatSSHIsStartedWith() throws {
        guard case .sftp(let url) = try RemoteURL("sftp://me@host:2222/x") else {
            Issue.record("not a URL of SFTP")
            return
        }
        let variables = [
            "SSH_ASKPASS": "x", "DISPLAY": ":0", "SSH_AUTH_SOCK": "/agent", "COFFER_PASSPHRASE": "x",
        ]
        let server = SFTPServer.ssh(url, variables)
        #expect(server.command.suffix(8) == ["-p", "2222", "-l", "me", "-s", "--", "host", "sftp"])
        for option in [
            "BatchMode=yes", "StrictHostKeyChecking=yes", "UpdateHostKeys=no", "ControlPath=none",
            "ControlMaster=no", "ClearAllForwardings=yes", "ForwardAgent=no", "RequestTTY=no",
        ] {
            #expect(server.command.contains(option))
        }
        #expect(server.environment["SSH_ASKPASS"] == nil && server.environment["DISPLAY"] == nil)
        #expect(server.environment["SSH_ASKPASS_REQUIRE"] == "never")
        #expect(server.environment["COFFER_PASSPHRASE"] == nil)
        #expect(server.environment["SSH_AUTH_SOCK"] == "/agent")
    }

    /// Only whole beginnings of lines are ssh's own words.
    @Test func complaintsOfSSH() throws {
        guard case .sftp(let url) = try RemoteURL("sftp://me@host:2222/x") else {
            Issue.record("not a URL of SFTP")
            return
        }
        func text(_ lines: String...) -> String { SSHComplaint.meaning(of: lines, url).description }
        #expect(
            text("No ED25519 host key is known for host and you have requested strict checking.")
                .contains("ssh -p 2222 me@host"))
        #expect(
            text("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @").contains(
                "ssh-keygen -R '[host]:2222'"))
        #expect(text("me@host: Permission denied (publickey).").contains("does not let this user in"))
        #expect(text("subsystem request failed on channel 0").contains("no SFTP"))
        #expect(!text("says: @ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!").contains("ssh-keygen"))
        #expect(!text("a word: x Permission denied").contains("let this user in"))
        #expect(SSHComplaint.meaning(of: [], url).canRetryHelp)
    }

    @Test func textOfOthersIsPrintable() {
        let text = PrintableText.of(Array("a\u{1b}[31m\u{9b}31m\u{202e}b\r\n\u{7}c\u{2028}d é".utf8))
        #expect(text == "a [31m 31m b c d é")
        #expect(PrintableText.of(Array(repeating: 0x41, count: 5000)).count == 300)
        #expect(!PrintableText.of([0xFF, 0x41, 0x9B]).unicodeScalars.contains { $0.value == 0x9B })
    }
}
