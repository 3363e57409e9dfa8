internal import CofferSystem
internal import CofferHTTP

/// What a collection has, as PROPFIND shows it.
struct WebDAVDirectory {
    /// A member of the collection.
    struct Entry {
        let name: String
        let isCollection: Bool
        /// The size in bytes; 0 for a collection.
        let byteCount: Int
        /// Changes when the resource is replaced.
        let tag: String
        /// When it was changed, in seconds since 1970; nil if the server does not tell.
        let modified: Int64?
    }

    private static let question = Array(
        """
        <?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/>\
        <getetag/><getlastmodified/></prop></propfind>
        """.utf8)
    /// The longest answer: some hundred thousand entries.
    private static let answerByteCountMax = 128 << 20

    /// All members, in no particular order.
    private(set) var entries: [Entry] = []
    /// The server's time in seconds since 1970; nil if it does not tell.
    let now: Int64?

    /// Reads a collection; nil if there is none.
    ///
    /// - Parameter path: Below the client's collection, without "/" at its end; empty for that collection.
    static func read(_ path: String, _ client: WebDAVClient) async throws(RemoteError) -> WebDAVDirectory? {
        var request = client.request("PROPFIND", path.isEmpty ? "" : path + "/")
        request.headers = [HTTPHeader("Depth", "1"), HTTPHeader("Content-Type", "application/xml")]
        request.body = question
        request.answerByteCountMax = answerByteCountMax
        var answer = try await client.sendUntilWhole(request)
        if answer.status == 400, !path.isEmpty {
            // Apache says this of a file whose name has a "/" behind it.
            request.url = client.address(path)
            answer = try await client.sendUntilWhole(request)
        }
        if answer.status == 404 { return nil }
        guard answer.status == 207 else {
            // A server that knows no WebDAV.
            if answer.isSuccess || answer.status == 405 {
                throw .unsupported(
                    "it is no WebDAV server; perhaps a network that wants a login has answered")
            }
            throw WebDAVClient.error(answer, isChange: false)
        }
        return try WebDAVDirectory(answer, of: "\(client.url.path)/\(path)")
    }

    init(_ answer: HTTPResponse, of path: String) throws(RemoteError) {
        now = answer["date"].flatMap { HTTPDate.seconds($0) }
        let own = path.split(separator: "/")
        var (entries, isOther, isSelfCollection) = ([Entry](), false, true)
        let root = XMLReader.read(answer.body) { response in
            guard response.localName == "response", let href = response.child("href")?.text else { return }
            guard let segments = Self.segments(href) else { return isOther = true }
            if segments.elementsEqual(own, by: { $0 == $1 }) {
                isSelfCollection = Self.entry("", response)?.isCollection ?? true
            } else if segments.dropLast().elementsEqual(own, by: { $0 == $1 }), let name = segments.last {
                if let entry = Self.entry(name, response) { entries.append(entry) }
            } else {
                isOther = true
            }
        }
        guard let root, root.localName == "multistatus", !isOther else {
            throw .failed("the listing of \(path) is not one of WebDAV, or of another place")
        }
        // An object has no members.
        self.entries = isSelfCollection ? entries : []
    }

    /// The decoded segments of a URL, or of a path; nil if it cannot be decoded.
    private static func segments(_ href: String) -> [String]? {
        var path = href[...]
        if let scheme = path.firstRange(of: "://") {
            path = path[scheme.upperBound...].drop { $0 != "/" }
        }
        var segments: [String] = []
        for segment in path.split(separator: "/") {
            guard let text = PercentEncoding.decode(segment) else { return nil }
            segments.append(text)
        }
        return segments
    }

    /// What the properties say; nil for a resource of unknown size.
    private static func entry(_ name: String, _ response: XMLElement) -> Entry? {
        // Properties that a resource does not have come with a status of their own.
        let found = response.all("propstat").filter { $0.child("status")?.text.contains(" 200") ?? true }
        let properties = found.compactMap { $0.child("prop") }
        let value = { (name: String) in properties.lazy.compactMap { $0.child(name) }.first }
        let isCollection = value("resourcetype")?.child("collection") != nil
        let size = value("getcontentlength").flatMap { Int($0.text) }
        guard isCollection || (size ?? -1) >= 0 else { return nil }
        let date = value("getlastmodified")?.text ?? ""
        return Entry(
            name: name, isCollection: isCollection, byteCount: isCollection ? 0 : size ?? 0,
            tag: "\(value("getetag")?.text ?? "") \(date)", modified: HTTPDate.seconds(date))
    }
}
