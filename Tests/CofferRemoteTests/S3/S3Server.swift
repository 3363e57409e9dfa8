import CofferRemote
import Foundation
import LocalServers
import RemoteConformance

/// The server of s3.py, started once for all tests.
enum S3Server {
    private static let shared = Result {
        let server = try LocalServer(["python3", LocalServer.script("s3.py")])
        return (server, try server.port())
    }

    /// Whether this machine has moto.
    static let isThere = LocalServer.canRun(["python3", "-c", "import moto.server, botocore"])

    /// The URL of the server.
    static func endpoint() throws -> String { "http://127.0.0.1:\(try shared.get().1)" }

    /// The variables of a user of the server.
    static func variables(_ user: String) -> [String: String] {
        let secrets = [
            "writer": "the secret of/the+writer", "reader": "the secret of the reader", "ended": "ended",
        ]
        return ["AWS_ACCESS_KEY_ID": user, "AWS_SECRET_ACCESS_KEY": secrets[user] ?? "another secret"]
    }

    /// A client of a part of a bucket.
    static func client(
        _ bucket: String = "tests", prefix: String, user: String = "writer"
    ) throws -> S3Backend {
        let variables = variables(user)
        return S3Backend(
            S3Place(
                endpoint: try endpoint(), region: "eu-north-1", bucket: bucket, prefix: prefix, style: .path),
            S3Environment { variables[$0] }, polling: PollSchedule(first: 100, max: 300))
    }
}

/// Parts of a bucket, each with a prefix of its own.
struct S3Places: RemotePlaces {
    var bucket = "tests"

    func make(_ kind: RemotePlace.Kind) async throws -> RemotePlace? {
        // moto is never full.
        if kind == .small { return nil }
        // A prefix that has to be encoded in paths, and in queries.
        let path = "place \(UInt64.random(in: 0 ... .max))+ä"
        let client = try S3Server.client(bucket, prefix: "\(path)/")
        let url = "s3:\(try S3Server.endpoint())/\(bucket)/\(path)"
        let place = try await place(
            client, try S3Server.client(bucket, prefix: "\(path)/"), vault: someVault(), url: url,
            environment: S3Server.variables("writer"))
        if kind == .ordinary { return place }
        try await client.put(RemotePlace.readOnlyObject(place.vault), .memory([1, 2, 3]), ifAbsent: true)
        let reader = try S3Server.client(bucket, prefix: "\(path)/", user: "reader")
        return RemotePlace(remote: reader, other: reader, vault: place.vault, url: nil) {}
    }
}
