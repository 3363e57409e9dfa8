/// Dates in headers and properties: "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, section 5.6.7).
enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Seconds since 1970; nil if the text is no such date.
    static func seconds(_ text: String) -> Int64? {
        let words = text.split { $0 == " " || $0 == ":" }
        guard words.count == 8, words[7] == "GMT", let day = Int64(words[1]),
            let month = months.firstIndex(where: { $0 == words[2] }), let year = Int64(words[3]),
            let hour = Int64(words[4]), let minute = Int64(words[5]), let second = Int64(words[6])
        else { return nil }
        return UTCTime.seconds(year, Int64(month + 1), day, hour, minute, second)
    }
}
