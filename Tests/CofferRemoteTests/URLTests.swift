import CofferRemote
import Testing

/// URLs of remotes, as people write them.
@Suite struct URLTests {
    @Test(arguments: [
        ("file:///mnt/nas", "/mnt/nas"), ("file:/mnt/nas/", "/mnt/nas"), ("FILE://localhost/a", "/a"),
        ("file:///a%20b/%C3%A4", "/a b/ä"), ("file:///", "/"), ("file:///a%2Fb", "/a/b"),
        ("file:///a?b#c", "/a?b#c"), ("/mnt/nas", "/mnt/nas"), ("/mnt/my nas//", "/mnt/my nas"), ("//", "/"),
        ("/a%20b:c", "/a%20b:c"),
    ])
    func folders(_ text: String, _ path: String) throws {
        #expect(try RemoteURL(text) == .folder(path: path))
        #expect(try RemoteURL(text).open().describe() == "folder \(path)")
    }

    @Test(arguments: [
        ("mnt/nas", RemoteURL.Mistake.noScheme), ("", .noScheme), ("/a\0b", .badEncoding), (":x", .noScheme),
        ("a b:c", .noScheme),
        ("ftp://a/b", .unknownScheme("ftp")), ("file://nas/share", .hasHost), ("file://", .pathIsNotAbsolute),
        ("file:nas", .pathIsNotAbsolute), ("file:", .pathIsNotAbsolute), ("file:///a%2", .badEncoding),
        ("file:///a%zz", .badEncoding), ("file:///a%+1", .badEncoding), ("file:///a%00", .badEncoding),
        ("file:///a%ff", .badEncoding), ("s3://key:secret@host/bucket", .hasCredentials),
        ("s3:https://key:secret@host/bucket", .hasCredentials),
        ("webdavs://me:secret@host/dav", .hasCredentials),
        ("sftp://me:secret@host/dir", .hasCredentials),
        ("s3://host/bucket?X-Amz-Signature=1", .hasCredentials),
    ])
    func mistakes(_ text: String, _ mistake: RemoteURL.Mistake) {
        #expect(throws: mistake) { try RemoteURL(text) }
        #expect(!mistake.description.contains("secret"))
    }

    /// A URL that is stored or shown leads to the same place when it is read again.
    @Test(arguments: ["/", "/mnt/nas", "/a b", "/100%", "/a%20b", "/ä/?#", "/tab\tnewline\n"])
    func theOneForm(path: String) throws {
        let url = try RemoteURL(path)
        #expect(try RemoteURL(url.text) == url)
        #expect(url.text.hasPrefix("file:///") && !url.text.contains(where: \.isWhitespace))
        #expect(RemoteURL.hasScheme(url.text) && !RemoteURL.hasScheme(path))
    }
}
