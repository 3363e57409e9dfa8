import CofferSystem
@testable import CofferRemote
import Foundation
import LocalServers
import RemoteConformance

/// One Apache server for all tests.
enum WebDAVServer {
    private static let shared = Result { try ApacheServer() }

    static func server() throws -> ApacheServer { try shared.get() }

    /// The URL of a directory, under one of the server's paths.
    static func url(_ way: String, _ directory: String, isSecure: Bool = false) throws -> String {
        let server = try server()
        let user = ["digest", "basic"].contains(way) ? "me@" : ""
        let port = isSecure ? server.securePort : server.port
        return "webdav\(isSecure ? "s" : "")://\(user)127.0.0.1:\(port)/\(way)/\(directory)"
    }

    /// A client of a URL, with the password.
    static func client(_ text: String, password: String = "secret") throws -> WebDAVBackend {
        guard case .webdav(let url) = try RemoteURL(text) else { throw RemoteURL.Mistake.noScheme }
        let variables = ["COFFER_WEBDAV_PASSWORD": password, "COFFER_WEBDAV_SERVER": url.server]
        return WebDAVBackend(
            url, variable: { variables[$0] }, certificateFile: try server().authority,
            polling: PollSchedule(first: 100, max: 300))
    }

    /// Makes an empty directory that the server may write to, or a file system in memory of the given size.
    static func directory(memory byteCount: Int? = nil) throws -> String {
        let name = "place \(UInt64.random(in: 0 ... .max))+ä"
        let path = "\(try server().root)/\(name)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        if let byteCount, mount("coffer", path, "tmpfs", 0, "size=\(byteCount),mode=777") != 0 {
            throw RemoteError.unsupported("mount")
        }
        chmod(path, 0o777)
        return name
    }

    /// The name in a URL.
    static func encoded(_ name: String) -> String { PercentEncoding.encode(name) }
}

/// Directories of the server.
struct WebDAVPlaces: RemotePlaces {
    var way = "open"
    var isSecure = false

    func make(_ kind: RemotePlace.Kind) async throws -> RemotePlace? {
        if kind == .small, !FolderPlaces.canMount { return nil }
        let directory = try WebDAVServer.directory(memory: kind == .small ? 5 << 20 : nil)
        let name = WebDAVServer.encoded(directory)
        let url = try WebDAVServer.url(way, name, isSecure: isSecure)
        let path = "\(try WebDAVServer.server().root)/\(directory)"
        let place = try await place(
            try WebDAVServer.client(url), try WebDAVServer.client(url), vault: someVault(), url: url,
            environment: [
                "COFFER_WEBDAV_PASSWORD": "secret", "CURL_CA_BUNDLE": try WebDAVServer.server().authority,
                "COFFER_WEBDAV_SERVER": Self.serverURL(of: url),
            ]
        ) {
            umount2(path, Int32(MNT_DETACH))
            try? FileManager.default.removeItem(atPath: path)
        }
        if kind != .readOnly { return place }
        let object = RemotePlace.readOnlyObject(place.vault)
        try await place.remote.put(object, .memory([1, 2, 3]), ifAbsent: true)
        let reader = try WebDAVServer.client(try WebDAVServer.url("protected", name))
        return RemotePlace(remote: reader, other: reader, vault: place.vault, url: nil, remove: place.remove)
    }

    /// Scheme, host and port of a URL.
    private static func serverURL(of url: String) -> String {
        guard case .webdav(let parts)? = try? RemoteURL(url) else { return "" }
        return parts.server
    }
}
