internal import CofferSystem

/// A bucket of an S3 server, or a part of one.
package struct S3Place: Hashable, Sendable {
    /// How a request names the bucket.
    package enum Style: Hashable, Sendable {
        /// As a part of the host's name, as Amazon wants it.
        case host
        /// As the first segment of the path, as other servers want it.
        case path
    }

    /// The server: scheme, host and port, without a "/" at its end, such as "https://s3.eu-west-1.amazonaws.com".
    package let endpoint: String
    /// The region that requests are signed for.
    package let region: String
    /// The bucket.
    package let bucket: String
    /// What all keys begin with: empty, or with a "/" at its end.
    package let prefix: String
    /// How requests name the bucket.
    package let style: Style

    package init(endpoint: String, region: String, bucket: String, prefix: String, style: Style) {
        self.endpoint = endpoint
        self.region = region
        self.bucket = bucket
        self.prefix = prefix
        self.style = style
    }

    /// The host, and the port if it is given, as the Host header has them.
    var host: String {
        let authority = endpoint.split(separator: "/").last.map(String.init) ?? ""
        // A header leaves out the port that the scheme implies (RFC 9110, section 4.2.3), and so does libcurl.
        let implied = endpoint.hasPrefix("https:") ? ":443" : ":80"
        let host = authority.hasSuffix(implied) ? String(authority.dropLast(implied.utf8.count)) : authority
        return style == .host ? "\(bucket).\(host)" : host
    }

    private var scheme: String { endpoint.hasPrefix("https:") ? "https" : "http" }

    /// The percent-encoded path of a key; of the bucket for "".
    func path(_ key: String) -> String {
        let bucketPath = style == .host ? "/" : "/\(PercentEncoding.encode(bucket))"
        if key.isEmpty { return bucketPath }
        return (style == .host ? "" : bucketPath) + "/" + PercentEncoding.encode(key, keepsSlashes: true)
    }

    /// The URL of a percent-encoded path, with a canonical query.
    func url(_ path: String, query: String) -> String {
        "\(scheme)://\(host)\(path)" + (query.isEmpty ? "" : "?\(query)")
    }

    /// The place in messages.
    var text: String { "\(endpoint)/\(bucket)\(prefix.isEmpty ? "" : "/\(prefix.dropLast())")" }
}
