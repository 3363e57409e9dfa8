import CofferHTTP
@testable import CofferRemote
import RemoteConformance
import Synchronization
import Testing

/// Refusals of S3 servers, and the messages for users.
@Suite(.serialized, .enabled(if: S3Server.isThere, "moto is not installed"))
struct S3FailureTests {
    private let name = someVault().format

    private func failures(_ client: S3Backend) async -> [RemoteError?] {
        [
            await failure { () async throws(RemoteError) in _ = try await client.get(name, 0..<1) },
            await failure { () async throws(RemoteError) in
                try await client.put(name, .memory([1]), ifAbsent: false)
            },
            await failure { () async throws(RemoteError) in
                try await client.put(name, .memory([1]), ifAbsent: true)
            },
            await failure { () async throws(RemoteError) in _ = try await client.list(.all, after: nil) },
            await failure { () async throws(RemoteError) in try await client.delete(name) },
        ]
    }

    @Test func overloadIsBusy() async throws {
        for error in await failures(try S3Server.client("slow", prefix: "")) {
            #expect(error == .busy(after: .seconds(3)))
        }
    }

    @Test func fullIsFull() async throws {
        #expect(await failures(try S3Server.client("full", prefix: ""))[1...2] == [.full, .full])
    }

    @Test(arguments: [
        ("elsewhere", "AWS_REGION", "eu-west-1"), ("malformed", "AWS_REGION", "eu-central-1"),
        ("skewed", "RequestTimeTooSkewed", "clock"),
    ])
    func theMessageSaysWhatToDo(bucket: String, first: String, second: String) async throws {
        for error in await failures(try S3Server.client(bucket, prefix: "")) {
            guard case .refused(let text) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(text.contains(first) && text.contains(second))
        }
    }

    @Test func aFailureMayComeWithSuccess() async throws {
        let errors = await failures(try S3Server.client("late", prefix: ""))
        for error in errors[1...3] { #expect(error?.canRetryHelp == true) }
    }

    @Test func aMissingBucketDiffersFromAMissingObject() async throws {
        let errors = await failures(try S3Server.client("nowhere", prefix: ""))
        for error in errors {
            guard case .unreachable(let text) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(text.contains("NoSuchBucket"))
        }
    }

    @Test func wrongKeysAreRefused() async throws {
        for (user, code) in [("nobody", "InvalidAccessKeyId"), ("ended", "ExpiredToken")] {
            for error in await failures(try S3Server.client(prefix: "", user: user)) {
                guard case .refused(let text) = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
                #expect(text.contains(code))
            }
        }
    }

    @Test func expiredCredentialsAreReadAgain() async throws {
        let users = Users(["ended", "writer"])
        let place = S3Place(
            endpoint: try S3Server.endpoint(), region: "us-east-1", bucket: "tests", prefix: "again/",
            style: .path)
        let client = S3Backend(place, S3Environment { S3Server.variables(users.user(for: $0))[$0] })
        try await client.put(name, .memory([7]), ifAbsent: false)
        #expect(try await client.get(name, 0..<9).bytes == [7])
    }

    @Test func supportForExclusivePutsIsDetected() async throws {
        #expect(try await S3Server.client(prefix: "a/").shortcomings() == [])
        for bucket in ["ignorant", "refusing"] {
            let client = try S3Server.client(bucket, prefix: "a/")
            #expect(try await client.shortcomings() == [S3Exclusion.shortcoming])
            // No object of the probe is left.
            var request = S3Client.Request("GET", "")
            request.query = [("list-type", "2"), ("prefix", "a/")]
            let listing = String(decoding: try await client.client.send(request).body, as: UTF8.self)
            #expect(listing.contains("ListBucketResult") && !listing.contains("<Contents>"))
        }
    }

    @Test func keysOfOthersAreNotListed() async throws {
        let prefix = "others \(UInt64.random(in: 0 ... .max))/"
        let client = try S3Server.client(prefix: prefix)
        try await client.put(name, .memory([7, 8]), ifAbsent: true)
        for key in ["Upper", ".hidden", "ä/x", "a//b", "\(name)/"] {
            var request = S3Client.Request("PUT", prefix + key)
            request.body = [UInt8]()
            #expect(try await client.client.send(request).isSuccess)
        }
        #expect(try await client.all(.all) == [RemotePage.Entry(name: name, byteCount: 2)])
    }
}

/// Several users in turn: each request for the key returns the key of the next one.
private final class Users: Sendable {
    private let users: Mutex<(left: [String], current: String)>

    init(_ users: [String]) {
        self.users = Mutex((users, users.first ?? ""))
    }

    func user(for variable: String) -> String {
        users.withLock { users in
            if variable == "AWS_ACCESS_KEY_ID", !users.left.isEmpty {
                users.current = users.left.removeFirst()
            }
            return users.current
        }
    }
}
