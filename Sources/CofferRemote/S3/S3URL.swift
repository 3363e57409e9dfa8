internal import CofferSystem

/// The URL of a bucket, or of a part of one: "s3://BUCKET/PREFIX", or "s3:https://HOST:PORT/BUCKET/PREFIX".
///
/// The first form leaves the server to the environment, as Amazon's tools do; restic has the second one.
package struct S3URL: Hashable, Sendable {
    /// Scheme, host and port of the server; nil for the one of the environment.
    let endpoint: String?
    let bucket: String
    /// What all keys begin with, decoded, without "/" at its ends; may be empty.
    let path: String

    /// Parses what follows "s3:".
    init(_ rest: Substring) throws(RemoteURL.Mistake) {
        let scheme = ["https://", "http://"].first { rest.lowercased().hasPrefix($0) }
        guard scheme != nil || rest.hasPrefix("//") else { throw .badPlace(Self.form) }
        let inner = rest.dropFirst(scheme?.utf8.count ?? 2)
        guard !inner.contains(where: { "@?#".contains($0) }) else { throw .hasCredentials }
        var parts = inner.split(separator: "/", omittingEmptySubsequences: false)
        while parts.last == "" { parts.removeLast() }
        if let scheme {
            guard parts.count >= 2, URLText.isAuthority(parts[0]) else { throw .badPlace(Self.form) }
            endpoint = scheme + parts.removeFirst().lowercased()
        } else {
            endpoint = nil
        }
        guard let bucket = parts.first, Self.isBucket(bucket) else { throw .badPlace(Self.form) }
        self.bucket = String(bucket)
        path = try URLText.path(parts.dropFirst())
    }

    private static let form = "s3://BUCKET/PREFIX, or s3:https://HOST/BUCKET/PREFIX"

    private static func isBucket(_ text: Substring) -> Bool {
        let isName = text.utf8.allSatisfy { byte in
            PercentEncoding.isUnreserved(byte) && byte != UInt8(ascii: "~")
        }
        return (1...255).contains(text.utf8.count) && isName && text.first != "."
    }

    /// The URL in the form that is stored and shown.
    var text: String {
        let end = path.isEmpty ? "" : "/\(PercentEncoding.encode(path, keepsSlashes: true))"
        return "s3:\(endpoint ?? "/")/\(bucket)\(end)"
    }

    /// The place that it means on this machine.
    ///
    /// - Throws: `.refused` if the environment names a server that is no URL.
    func place(_ environment: S3Environment) throws(RemoteError) -> S3Place {
        let prefix = path.isEmpty ? "" : "\(path)/"
        if let endpoint = endpoint ?? environment.endpoint {
            guard URLText.isServer(endpoint) else {
                throw .refused("AWS_ENDPOINT_URL is not the URL of a server: \(endpoint)")
            }
            return S3Place(
                endpoint: endpoint, region: Self.region(of: endpoint) ?? environment.region, bucket: bucket,
                prefix: prefix, style: .path)
        }
        let region = environment.region
        let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
        return S3Place(
            endpoint: "https://s3.\(region).\(domain)", region: region, bucket: bucket, prefix: prefix,
            style: isHostName ? .host : .path)
    }

    /// Whether the bucket can be a part of a host's name that Amazon's certificate covers.
    private var isHostName: Bool {
        bucket.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: byte == UInt8(ascii: "-")
            }
        }
    }

    /// The region that is a part of an Amazon host's name: "s3.REGION.amazonaws.com".
    private static func region(of endpoint: String) -> String? {
        let parts = endpoint.split(separator: "/").last?.split(separator: ".") ?? []
        guard parts.count >= 4, parts[0] == "s3", parts[2] == "amazonaws" else { return nil }
        return String(parts[1])
    }
}
