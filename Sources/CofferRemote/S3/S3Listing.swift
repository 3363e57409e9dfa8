internal import CofferSystem
internal import CofferHTTP

/// Listings of a bucket (ListObjectsV2).
struct S3Listing: Sendable {
    private static let answerByteCountMax = 16 << 20
    /// How many answers without a single object of Coffer's are read for one page.
    private static let answerCountMax = 1000

    private let client: S3Client

    init(_ client: S3Client) {
        self.client = client
    }

    /// A part of a listing as the server gives it.
    private struct Part {
        var objects: [(name: RemoteName, byteCount: Int, tag: String)] = []
        /// What asks for the next part; nil if this one is the last.
        var token: String?
    }

    /// The objects of a prefix after a name: what one answer of the server has.
    func page(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        var token: String?
        for _ in 0..<Self.answerCountMax {
            let part = try await part(prefix, after: after, token)
            token = part.token
            let entries = part.objects.map { RemotePage.Entry(name: $0.name, byteCount: $0.byteCount) }
            // An answer may hold nothing but keys that are no names; the one that continues it is asked for by a token.
            if token == nil { return RemotePage(entries: entries, next: nil) }
            if let last = entries.last { return RemotePage(entries: entries, next: last.name) }
        }
        throw .failed("the listing has no end")
    }

    /// A digest of all objects of a prefix.
    func digest(below prefix: RemotePrefix) async throws(RemoteError) -> [UInt8] {
        var digest = ListingDigest()
        var token: String?
        repeat {
            let part = try await part(prefix, after: nil, token)
            for object in part.objects {
                digest.add(object.name, byteCount: object.byteCount, tag: object.tag)
            }
            token = part.token
            if Task.isCancelled { throw .cancelled }
        } while token != nil
        return digest.finish()
    }

    private func part(
        _ prefix: RemotePrefix, after: RemoteName?, _ token: String?
    ) async throws(RemoteError) -> Part {
        var request = S3Client.Request("GET", "")
        request.query = [("list-type", "2"), ("encoding-type", "url"), ("max-keys", "1000")]
        request.query.append(("prefix", client.place.prefix + prefix.text))
        if let token { request.query.append(("continuation-token", token)) }
        if let after, token == nil { request.query.append(("start-after", client.place.prefix + after.text)) }
        request.answerByteCountMax = Self.answerByteCountMax
        let answer = try await client.send(request)
        guard answer.isSuccess else {
            let error = S3Failure(answer).error(isChange: false)
            throw error == .absent ? .unreachable("there is no such bucket") : error
        }
        guard let root = XMLReader.read(answer.body), root.localName == "ListBucketResult" else {
            let failure = S3Failure(answer)
            guard failure.code.isEmpty else { throw failure.error(isChange: false) }
            throw .failed("its listing is not one of S3; perhaps a network that wants a login has answered")
        }
        return try read(root, prefix, after: after)
    }

    private func name(of key: String) -> RemoteName? {
        let prefix = client.place.prefix.utf8
        guard key.utf8.starts(with: prefix) else { return nil }
        return RemoteName(String(decoding: key.utf8.dropFirst(prefix.count), as: UTF8.self))
    }

    private func read(
        _ root: XMLElement, _ prefix: RemotePrefix, after: RemoteName?
    ) throws(RemoteError) -> Part {
        let isEncoded = root.child("EncodingType")?.text == "url"
        var part = Part()
        for object in root.all("Contents") {
            let text = object.child("Key")?.text ?? ""
            let key = isEncoded ? PercentEncoding.decode(text, plusIsSpace: true) : text
            // Keys of others are left out.
            guard let key, let name = name(of: key), prefix.contains(name) else { continue }
            guard let byteCount = object.child("Size").flatMap({ Int($0.text) }), byteCount >= 0 else {
                throw .failed("the listing has an object without a size")
            }
            // A page that goes on from its last name would never end, and names might be listed twice.
            guard (part.objects.last?.name ?? after).map({ $0 < name }) ?? true else {
                throw .failed("the listing does not have the order of names")
            }
            part.objects.append((name, byteCount, object.child("ETag")?.text ?? ""))
        }
        if root.child("IsTruncated")?.text == "true" {
            guard let token = root.child("NextContinuationToken")?.text, !token.isEmpty else {
                throw .failed("the listing is cut short")
            }
            part.token = token
        }
        return part
    }
}
