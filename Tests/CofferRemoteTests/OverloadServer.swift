import CofferRemote
import LocalServers

/// The server of faults.py, as a WebDAV server that is overloaded when it is first asked.
enum OverloadServer {
    private static let shared = Result {
        let server = try LocalServer(["python3", LocalServer.script("faults.py")])
        return (server, try server.port())
    }

    private struct WrongKind: Error {}

    /// The first bytes of each of its objects.
    static let bytes: [UInt8] = [0, 7, 14, 21]

    /// A collection that answers its first request with a status, and with Retry-After in one of its forms.
    static func url(_ status: Int, _ form: String) throws -> WebDAVURL {
        let key = UInt64.random(in: 0 ... .max)
        return try webdav("overload/\(key)/\(status)/\(form)")
    }

    /// A path of the server as a WebDAV collection.
    static func webdav(_ path: String) throws -> WebDAVURL {
        let text = "webdav://127.0.0.1:\(try shared.get().1)/\(path)"
        guard case .webdav(let url) = try RemoteURL(text) else { throw WrongKind() }
        return url
    }

    /// A path of the server as a bucket of S3.
    static func s3(_ path: String) throws -> S3Backend {
        let place = S3Place(
            endpoint: "http://127.0.0.1:\(try shared.get().1)", region: "us-east-1", bucket: path, prefix: "",
            style: .path)
        return S3Backend(place, S3Environment { $0.hasPrefix("AWS_") ? "x" : nil })
    }
}
