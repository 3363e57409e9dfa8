internal import CofferSystem
internal import CofferCrypto
internal import CofferHTTP

/// Signature version 4 of Amazon's services, in the Authorization header, as S3 wants it.
///
/// From "Authenticating Requests (AWS Signature Version 4)" in Amazon's S3 API reference: the path is encoded
/// once, and not normalised.
struct S3Signature {
    let credentials: S3Credentials
    let region: String
    var service = "s3"
    let time: UTCTime

    /// What is signed of a request.
    struct Signed {
        let method: String
        /// Percent-encoded.
        let path: String
        /// As `canonical(query:)` makes it.
        let query: String
        /// Names in lower case.
        let headers: [HTTPHeader]
        /// The hexadecimal SHA-256 hash of the body.
        let bodyHash: String
    }

    /// The value of the Authorization header.
    func authorization(_ request: Signed) -> String {
        let scope = "\(time.compactDate)/\(region)/\(service)/aws4_request"
        let hash = Self.hexadecimal(SHA256.hash(Array(canonical(request).utf8)))
        let text = "AWS4-HMAC-SHA256\n\(time.compact)\n\(scope)\n\(hash)"
        var key = Array("AWS4\(credentials.secretKey)".utf8)
        for part in [time.compactDate, region, service, "aws4_request"] {
            key = SHA256.authenticate(Array(part.utf8), key: key)
        }
        let signature = Self.hexadecimal(SHA256.authenticate(Array(text.utf8), key: key))
        return "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope),"
            + "SignedHeaders=\(Self.names(request.headers)),Signature=\(signature)"
    }

    /// The canonical request, whose hash is signed.
    func canonical(_ request: Signed) -> String {
        let headers = Self.sorted(request.headers).map { "\($0.name):\(Self.trimmed($0.value))\n" }.joined()
        return "\(request.method)\n\(request.path)\n\(request.query)\n\(headers)\n"
            + "\(Self.names(request.headers))\n\(request.bodyHash)"
    }

    /// A query, encoded and sorted.
    static func canonical(query: [(name: String, value: String)]) -> String {
        query.map { (PercentEncoding.encode($0.name), PercentEncoding.encode($0.value)) }
            .sorted { $0 < $1 }.map { "\($0)=\($1)" }.joined(separator: "&")
    }

    /// Bytes as lower-case hexadecimal digits.
    static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func names(_ headers: [HTTPHeader]) -> String {
        sorted(headers).map(\.name).joined(separator: ";")
    }

    private static func sorted(_ headers: [HTTPHeader]) -> [HTTPHeader] {
        headers.sorted { $0.name < $1.name }
    }

    /// Without spaces at the ends, and with one for several.
    private static func trimmed(_ value: String) -> String {
        value.split(separator: " ").joined(separator: " ")
    }
}
