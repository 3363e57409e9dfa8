import CofferHTTP
import Foundation
import LocalServers

/// The server of faults.py, started once for all tests.
enum FaultyServer {
    private static let shared = Result {
        let server = try LocalServer(["python3", LocalServer.script("faults.py")])
        return (server, try server.port())
    }

    /// The URL of a path.
    static func url(_ path: String) throws -> String { "http://127.0.0.1:\(try shared.get().1)/\(path)" }

    /// The bytes of its pattern at these offsets.
    static func pattern(_ range: Range<Int>) -> [UInt8] { range.map { UInt8($0 * 7 % 251) } }

    /// A client with short timeouts.
    static func client(stallSeconds: Int = 60) -> HTTPClient {
        var settings = HTTPSettings()
        settings.stallSeconds = stallSeconds
        return HTTPClient(settings)
    }
}

extension HTTPResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
}
