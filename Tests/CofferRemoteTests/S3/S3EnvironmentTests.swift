@testable import CofferRemote
import Foundation
import Testing

/// URLs of buckets, and the settings of Amazon's tools.
@Suite struct S3EnvironmentTests {
    @Test(arguments: [
        ("s3://bucket", "s3://bucket", "https://s3.eu-west-3.amazonaws.com", "bucket", "", true),
        (
            "S3://bucket/a/b//", "s3://bucket/a/b", "https://s3.eu-west-3.amazonaws.com", "bucket", "a/b/",
            true
        ),
        ("s3://my.bucket", "s3://my.bucket", "https://s3.eu-west-3.amazonaws.com", "my.bucket", "", false),
        ("s3:https://h/b", "s3:https://h/b", "https://h", "b", "", false),
        ("s3:http://H:9000/b/p%20q/", "s3:http://h:9000/b/p%20q", "http://h:9000", "b", "p q/", false),
        ("s3:http://[::1]:9/b", "s3:http://[::1]:9/b", "http://[::1]:9", "b", "", false),
    ])
    func urls(
        _ text: String, _ canonical: String, _ endpoint: String, _ bucket: String, _ prefix: String,
        _ isHost: Bool
    ) throws {
        let url = try RemoteURL(text)
        #expect(url.text == canonical)
        #expect(try RemoteURL(canonical) == url)
        guard case .s3(let parts) = url else { return #expect(url.text.isEmpty) }
        let environment = S3Environment { $0 == "AWS_REGION" ? "eu-west-3" : nil }
        let place = S3Place(
            endpoint: endpoint, region: "eu-west-3", bucket: bucket, prefix: prefix,
            style: isHost ? .host : .path)
        #expect(try parts.place(environment) == place)
    }

    @Test(arguments: [
        "s3:", "s3:bucket", "s3://", "s3:///bucket", "s3:https://host", "s3:https://host/", "s3:https:///b",
        "s3:ftp://host/b", "s3:https://host:port/b", "s3:https://ho st/b", "s3:https://host:70000/b",
        "s3://bu cket",
        "s3://.b", "s3://b/a//c", "s3://b/../c", "s3://b/%2e%2e/c", "s3://b/%2f", "s3://b/%zz", "s3://b/%00",
        "s3://b@c", "s3://b/x?y", "s3:https://me@host/b", "s3://b#c",
    ])
    func urlsThatAreNone(_ text: String) {
        #expect(throws: RemoteURL.Mistake.self) { try RemoteURL(text) }
    }

    @Test func theEnvironmentNamesAServer() throws {
        guard case .s3(let url) = try RemoteURL("s3://b/p") else {
            Issue.record("not a URL of S3")
            return
        }
        let named = S3Environment { ["AWS_ENDPOINT_URL": "https://minio.example:9000/"][$0] }
        let place = try url.place(named)
        #expect(place.endpoint == "https://minio.example:9000" && place.style == .path)
        #expect(place.region == "us-east-1")
        let both = [
            "AWS_ENDPOINT_URL": "https://a", "AWS_ENDPOINT_URL_S3": "https://s3.eu-west-9.amazonaws.com",
        ]
        #expect(try url.place(S3Environment { both[$0] }).region == "eu-west-9")
        #expect(throws: RemoteError.self) { try url.place(S3Environment { _ in "nonsense" }) }
    }

    private static let credentials = """
        # keys
        [default]
        aws_access_key_id = one
        aws_secret_access_key=two==

        [ other ]
        AWS_ACCESS_KEY_ID = three
        aws_secret_access_key = four
        aws_session_token = five
        [half]
        aws_access_key_id = six
        """
    private static let config = """
        [default]
        region = eu-central-1
        s3 =
            addressing_style = path
        [profile other]
        region = ap-south-1
        endpoint_url = https://other.example/
        """

    private func environment(_ variables: [String: String]) throws -> (S3Environment, TemporaryDirectory) {
        let home = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: "\(home.path)/.aws", withIntermediateDirectories: false)
        try Self.credentials.write(
            toFile: "\(home.path)/.aws/credentials", atomically: false, encoding: .utf8)
        try Self.config.write(toFile: "\(home.path)/.aws/config", atomically: false, encoding: .utf8)
        let variables = variables.merging(["HOME": home.path]) { $1 }
        return (S3Environment { variables[$0] }, home)
    }

    @Test(
        arguments: [
            ([:], "one", "two==", nil, "eu-central-1"),
            (["AWS_PROFILE": "other"], "three", "four", "five", "ap-south-1"),
            (["AWS_PROFILE": "other", "AWS_REGION": "x"], "three", "four", "five", "x"),
            (
                ["AWS_ACCESS_KEY_ID": "seven", "AWS_SECRET_ACCESS_KEY": "eight", "AWS_PROFILE": "other"],
                "seven",
                "eight", nil, "ap-south-1"
            ),
            (
                ["AWS_ACCESS_KEY_ID": "seven", "AWS_SECRET_ACCESS_KEY": ""], "one", "two==", nil,
                "eu-central-1"
            ),
        ] as [([String: String], String, String, String?, String)])
    func credentialsAreFound(
        _ variables: [String: String], _ key: String, _ secret: String, _ token: String?, _ region: String
    ) async throws {
        let (environment, home) = try environment(variables)
        let source = S3CredentialSource(environment, now: { 0 })
        let found = try await source.credentials()
        #expect(found == S3Credentials(accessKey: key, secretKey: secret, sessionToken: token))
        #expect(environment.region == region)
        withExtendedLifetime(home) {}
    }

    @Test(arguments: ["half", "none"])
    func theMessageAboutMissingCredentialsNamesTheirPlaces(profile: String) async throws {
        let (environment, home) = try environment([
            "AWS_PROFILE": profile, "AWS_EC2_METADATA_DISABLED": "true",
        ])
        do throws(RemoteError) {
            _ = try await S3CredentialSource(environment, now: { 0 }).credentials()
            Issue.record("credentials from nowhere")
        } catch {
            guard case .refused(let text) = error else { throw error }
            #expect(text.contains("AWS_ACCESS_KEY_ID") && text.contains("\(home.path)/.aws/credentials"))
            #expect(text.contains("“\(profile)”"))
        }
    }
}
