internal import CofferHTTP

extension HTTPResponse {
    /// What changes when the resource does: its ETag, or else the time of its change; nil if it has neither.
    ///
    /// An ETag is weak (W/) for as long as the file is new.
    var version: String? {
        self["etag"].map { $0.hasPrefix("W/") ? String($0.dropFirst(2)) : $0 } ?? self["last-modified"]
    }

    /// Whether it is a page for people, as networks answer whatever is asked until somebody has logged in.
    var isPage: Bool {
        status == 200 && self["content-type"]?.lowercased().hasPrefix("text/html") == true
    }

    /// Why an answer of success is none.
    static let page = RemoteError.refused(
        "it answers with a web page; perhaps this network wants a login before it lets anything through")

    /// The content that an answer to a request for a range holds.
    ///
    /// - Throws: `.failed` if the answer does not tell the object's size, or is of another range; `.refused` if it is
    ///   a web page; `.short`.
    func content(of range: Range<Int>) throws(RemoteError) -> RemoteContent {
        if isPage { throw Self.page }
        let size: Int
        if status == 206 {
            guard let said = contentRange, let whole = said.size, said.range?.lowerBound == range.lowerBound
            else { throw .failed("the answer is of another range than the one that was asked for") }
            size = whole
        } else {
            guard let whole = contentLength else {
                throw .failed("the answer does not tell the object's size")
            }
            size = whole
        }
        let expected = range.clamped(to: 0..<size).count
        guard body.count == expected else { throw .short(expected: expected, got: body.count) }
        return RemoteContent(bytes: body, objectByteCount: size)
    }
}
