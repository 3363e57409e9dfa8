internal import CofferHTTP

extension HTTPResponse {
    /// The longest pause that a server is granted, in seconds.
    private static let retryAfterMax = 300

    /// The pause in Retry-After (RFC 9110, section 10.2.3), up to five minutes; nil if there is none that makes sense.
    ///
    /// A date is compared with the server's own time if the answer has it, as this machine's clock may be wrong.
    ///
    /// - Parameter now: This machine's time, in seconds since 1970.
    func retryAfter(_ now: Int64) -> Duration? {
        guard let text = self["retry-after"] else { return nil }
        if let seconds = Self.number(text) { return .seconds(min(seconds, Self.retryAfterMax)) }
        guard let end = HTTPDate.seconds(text) else { return nil }
        let start = self["date"].flatMap { HTTPDate.seconds($0) } ?? now
        return .seconds(min(max(0, end - start), Int64(Self.retryAfterMax)))
    }
}
