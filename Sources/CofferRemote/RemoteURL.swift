/// The location of a remote, as users write it.
///
/// Never contains a password or a key; those are sealed in the profile.
package enum RemoteURL: Hashable, Sendable {
    /// A folder, by its absolute path.
    case folder(path: String)
    /// A bucket of S3.
    case s3(S3URL)
    /// A collection of a WebDAV server.
    case webdav(WebDAVURL)
    /// A directory of an SFTP server.
    case sftp(SFTPURL)
    /// A place that the user's rclone reaches.
    case rclone(RcloneURL)

    /// Why a text is not the URL of a remote.
    package enum Mistake: Error, Equatable {
        /// The text does not begin with a scheme and ":".
        case noScheme
        /// The scheme is not file, s3, webdav, webdavs, sftp, or rclone.
        case unknownScheme(String)
        /// The URL has a password, or another possible secret, before "@" or after "?".
        case hasCredentials
        /// A file URL with a host.
        case hasHost
        /// The path of a file URL does not begin with "/".
        case pathIsNotAbsolute
        /// The URL does not have the form that its scheme asks for, which is the value.
        case badPlace(String)
        /// A segment of the path is empty, ".", or "..".
        case badSegment
        /// A "%" without two hexadecimal digits after it, or a decoded path that is not UTF-8 or has a NUL.
        case badEncoding
    }

    /// Parses a URL (RFC 3986); "file:/path", "file:///path" (RFC 8089), and the plain path mean the same.
    package init(_ text: String) throws(Mistake) {
        if text.hasPrefix("/") {
            guard !text.utf8.contains(0) else { throw .badEncoding }
            self = .folder(path: Self.withoutEnd(text))
            return
        }
        guard let colon = text.firstIndex(of: ":"), colon != text.startIndex,
            text[..<colon].utf8.allSatisfy(Self.isSchemeByte)
        else { throw .noScheme }
        let scheme = text[..<colon].lowercased()
        let rest = text[text.index(after: colon)...]
        if scheme == "s3" {
            self = .s3(try S3URL(rest))
            return
        }
        if scheme == "webdav" || scheme == "webdavs" {
            self = .webdav(try WebDAVURL(rest, isSecure: scheme == "webdavs"))
            return
        }
        if scheme == "sftp" {
            self = .sftp(try SFTPURL(rest))
            return
        }
        if scheme == "rclone" {
            self = .rclone(try RcloneURL(rest))
            return
        }
        guard scheme == "file" else { throw .unknownScheme(scheme) }
        self = .folder(path: try Self.path(rest))
    }

    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
        default: false
        }
    }

    private static func path(_ rest: Substring) throws(Mistake) -> String {
        var path = rest
        if path.hasPrefix("//") {
            path = path.dropFirst(2)
            guard path.hasPrefix("/") || path.hasPrefix("localhost/") else {
                // Also not "/": users write "file://folder" when they mean a relative path.
                throw path.isEmpty ? .pathIsNotAbsolute : .hasHost
            }
            if !path.hasPrefix("/") { path = path.dropFirst("localhost".count) }
        }
        guard path.hasPrefix("/") else { throw .pathIsNotAbsolute }
        return withoutEnd(try decode(path))
    }

    /// A path without trailing slashes.
    private static func withoutEnd(_ path: String) -> String {
        let end = path.utf8.reversed().prefix { $0 == UInt8(ascii: "/") }.count
        return end == path.utf8.count ? "/" : String(decoding: path.utf8.dropLast(end), as: UTF8.self)
    }

    /// Whether a text begins with a scheme and ":", as a URL does, rather than being a path.
    package static func hasScheme(_ text: String) -> Bool {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon != text.startIndex else {
            return false
        }
        return text.utf8[..<colon].allSatisfy(isSchemeByte)
    }

    /// The URL in the canonical form that is stored and shown.
    package var text: String {
        switch self {
        case .folder(let path): "file://\(Self.encoded(path))"
        case .s3(let url): url.text
        case .webdav(let url): url.text
        case .sftp(let url): url.text
        case .rclone(let url): url.text
        }
    }

    /// Escapes the bytes of a path that would end it, or that could not be read back.
    private static func encoded(_ path: String) -> String {
        var bytes: [UInt8] = []
        for byte in path.utf8 {
            switch byte {
            case 0...0x20, 0x7F, UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "#"):
                let digits = String(byte, radix: 16, uppercase: true)
                bytes += Array("%\(digits.utf8.count < 2 ? "0" : "")\(digits)".utf8)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func decode(_ text: Substring) throws(Mistake) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, !digits.contains(UInt8(ascii: "+")), !digits.contains(UInt8(ascii: "-")),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            else { throw .badEncoding }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        guard !bytes.contains(0), let decoded = String(validating: bytes, as: UTF8.self) else {
            throw .badEncoding
        }
        return decoded
    }

    /// Makes the backend for the URL.
    ///
    /// - Parameter logins: Where credentials are found that the environment and its files do not have.
    /// - Throws: `.refused` if a setting of this machine is unusable.
    package func open(
        _ logins: @escaping RemoteLogins = { _ in nil }
    ) throws(RemoteError) -> any RemoteBackend {
        let place = loginPlace
        let login: @Sendable () -> RemoteLogin? = { place.flatMap { logins($0) } }
        switch self {
        case .folder(let path): return FolderBackend(path: path)
        case .s3(let url):
            let environment = S3Environment.process
            // Credentials for “s3://bucket” are for Amazon, whichever other server the environment names.
            let isMeant = url.endpoint != nil || environment.endpoint == nil
            let place = try url.place(environment)
            return isMeant ? S3Backend(place, login: login) : S3Backend(place)
        case .webdav(let url): return WebDAVBackend(url, login: login)
        case .sftp(let url): return SFTPBackend(url)
        case .rclone(let url): return SFTPBackend(url)
        }
    }
}

extension RemoteURL.Mistake: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noScheme:
            "A remote is the path of a folder, as in /mnt/nas/coffer, or a URL, as in file:///mnt/nas/coffer."
        case .unknownScheme(let scheme):
            "\(scheme): is not a kind of remote; use file, s3, webdav, sftp or rclone."
        case .hasCredentials: "A remote's URL must not contain a password or a key; coffer asks for them."
        case .hasHost: "A file: URL has no host: write file:///path, with three slashes."
        case .pathIsNotAbsolute: "The path of a file: URL begins with a slash, as in file:///mnt/nas/coffer."
        case .badPlace(let form): "The URL must have the form \(form)."
        case .badSegment: "The path of the URL has an empty segment, or “.” or “..”."
        case .badEncoding: "The URL has a % that is not followed by two hexadecimal digits of UTF-8."
        }
    }
}
