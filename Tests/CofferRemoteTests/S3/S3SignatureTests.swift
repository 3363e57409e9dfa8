import CofferHTTP
@testable import CofferRemote
import Testing

/// Signatures, as Amazon publishes them and as botocore makes them.
@Suite struct S3SignatureTests {
    /// From "Signature Calculations for the Authorization Header", in Amazon's S3 API reference.
    private static let amazon = S3Credentials(
        accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    private static let may24 = UTCTime(secondsSince1970: 1_369_353_600)
    private static let host = HTTPHeader("host", "examplebucket.s3.amazonaws.com")
    private static let date = HTTPHeader("x-amz-date", "20130524T000000Z")

    private func signature(_ request: S3Signature.Signed) -> Substring {
        let signature = S3Signature(credentials: Self.amazon, region: "us-east-1", time: Self.may24)
        return signature.authorization(request).suffix(64)
    }

    private func request(
        _ method: String, _ path: String, _ query: [(name: String, value: String)] = [],
        headers: [HTTPHeader], bodyHash: String = S3Client.emptyHash
    ) -> S3Signature.Signed {
        let hash = HTTPHeader("x-amz-content-sha256", bodyHash)
        return S3Signature.Signed(
            method: method, path: path, query: S3Signature.canonical(query: query),
            headers: headers + [Self.host, hash], bodyHash: bodyHash)
    }

    @Test func amazonGetsAnObject() {
        let headers = [HTTPHeader("range", "bytes=0-9"), Self.date]
        #expect(
            signature(request("GET", "/test.txt", headers: headers))
                == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    }

    @Test func amazonPutsAnObject() {
        let headers = [
            HTTPHeader("date", "Fri, 24 May 2013 00:00:00 GMT"), Self.date,
            HTTPHeader("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ]
        let hash = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
        #expect(
            signature(request("PUT", "/test%24file.text", headers: headers, bodyHash: hash))
                == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
    }

    @Test func amazonReadsTheLifecycle() {
        #expect(
            signature(request("GET", "/", [("lifecycle", "")], headers: [Self.date]))
                == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
    }

    @Test func amazonListsObjects() {
        #expect(
            signature(request("GET", "/", [("prefix", "J"), ("max-keys", "2")], headers: [Self.date]))
                == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
    }

    /// From Amazon's "aws-sig-v4-test-suite", for another service, without a hash header.
    @Test(
        arguments: [
            ("get-vanilla", "", [], "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            (
                "get-vanilla-query-order-key-case", "Param1=value1&Param2=value2", [],
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
            ),
            (
                "get-header-value-trim", "",
                [HTTPHeader("my-header1", " value1"), HTTPHeader("my-header2", " \"a   b   c\"")],
                "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"
            ),
        ] as [(String, String, [HTTPHeader], String)])
    func suite(_ name: String, _ query: String, _ headers: [HTTPHeader], _ expected: String) {
        let credentials = S3Credentials(
            accessKey: "AKIDEXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
        let time = UTCTime(secondsSince1970: 1_440_938_160)
        let request = S3Signature.Signed(
            method: "GET", path: "/", query: query,
            headers: headers + [
                HTTPHeader("host", "example.amazonaws.com"), HTTPHeader("x-amz-date", time.compact),
            ], bodyHash: S3Client.emptyHash)
        let signature = S3Signature(
            credentials: credentials, region: "us-east-1", service: "service", time: time)
        #expect(signature.authorization(request).suffix(64) == expected)
    }

    @Test(
        arguments: [
            (0, "19700101T000000Z"), (951_782_399, "20000228T235959Z"), (951_782_400, "20000229T000000Z"),
            (1_369_353_600, "20130524T000000Z"), (1_709_164_800, "20240229T000000Z"),
            (1_735_689_599, "20241231T235959Z"), (4_107_542_400, "21000301T000000Z"),
        ] as [(Int64, String)])
    func times(_ seconds: Int64, _ text: String) {
        #expect(UTCTime(secondsSince1970: seconds).compact == text)
    }

    @Test func queriesAreSortedAfterEncoding() {
        let query = S3Signature.canonical(query: [("b", ""), ("a", "1+ä/~"), ("a-", "x"), ("aB", "&=")])
        #expect(query == "a=1%2B%C3%A4%2F~&a-=x&aB=%26%3D&b=")
    }

    @Test func placesHaveHostsAndPaths() {
        let amazon = S3Place(
            endpoint: "https://s3.eu-west-1.amazonaws.com", region: "eu-west-1", bucket: "my-bucket",
            prefix: "", style: .host)
        #expect(amazon.host == "my-bucket.s3.eu-west-1.amazonaws.com")
        #expect(amazon.path("a b/c") == "/a%20b/c" && amazon.path("") == "/")
        let other = S3Place(
            endpoint: "http://[::1]:80", region: "x", bucket: "b", prefix: "", style: .path)
        #expect(other.host == "[::1]" && other.path("k") == "/b/k" && other.path("") == "/b")
        #expect(other.url(other.path("k"), query: "q=1") == "http://[::1]/b/k?q=1")
    }
}
