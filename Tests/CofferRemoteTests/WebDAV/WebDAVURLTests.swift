@testable import CofferRemote
import Testing

/// URLs and dates of WebDAV.
@Suite struct WebDAVURLTests {
    @Test(
        arguments: [
            ("webdav://host", "webdav://host", "http://host", nil, false),
            ("webdavs://Host:8443/a/b//", "webdavs://host:8443/a/b", "https://host:8443/a/b", nil, false),
            ("WEBDAVS://me@host/p%20q", "webdavs://me@host/p%20q", "https://host/p%20q", "me", false),
            (
                "webdav://me%40home@127.0.0.1:80/", "webdav://me%40home@127.0.0.1:80", "http://127.0.0.1:80",
                "me@home", true
            ),
            ("webdav://[::1]:8080/x", "webdav://[::1]:8080/x", "http://[::1]:8080/x", nil, true),
            ("webdav://localhost/x", "webdav://localhost/x", "http://localhost/x", nil, true),
            (
                "webdav://127.example.org/x", "webdav://127.example.org/x", "http://127.example.org/x", nil,
                false
            ),
            ("webdav://host/a@b", "webdav://host/a%40b", "http://host/a%40b", nil, false),
        ] as [(String, String, String, String?, Bool)])
    func urls(_ text: String, _ canonical: String, _ http: String, _ user: String?, _ isLocal: Bool) throws {
        let url = try RemoteURL(text)
        #expect(url.text == canonical)
        #expect(try RemoteURL(canonical) == url)
        guard case .webdav(let parts) = url else { return #expect(url.text.isEmpty) }
        #expect(parts.http == http && parts.user == user && parts.isLocal == isLocal)
        #expect(try url.open().describe() == "WebDAV collection \(canonical)")
    }

    @Test(arguments: [
        "webdav:", "webdav:/x", "webdav://", "webdav:///x", "webdav://host:x/", "webdav://ho st/",
        "webdav://a:b@host",
        "webdav://@host/", "webdav://host/?x", "webdav://host/#x", "webdav://host/a//b", "webdav://host/../b",
        "webdav://host/%zz", "webdav://me%0a@host/", "webdav://me%3apassword@host/", "webdav://host/a%0ab",
    ])
    func urlsThatAreNone(_ text: String) {
        #expect(throws: RemoteURL.Mistake.self) { try RemoteURL(text) }
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000), ("Fri, 31 Dec 1999 23:59:59 GMT", 946_684_799),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777), ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Monday, 01-Jan-24 00:00:00 GMT", 1_704_067_200), ("Sun Nov  6 08:49 1994", nil),
            ("Sun, 06 Nov 1994 08:49:37 CET", nil), ("", nil),
            ("Sun, 06 Nov 1994 24:49:37 GMT", nil), ("Sun, 00 Nov 1994 08:49:37 GMT", nil),
        ] as [(String, Int64?)])
    func dates(_ text: String, _ seconds: Int64?) {
        #expect(HTTPDate.seconds(text) == seconds)
    }
}
