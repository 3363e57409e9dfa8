/// Dates in headers and properties (RFC 9110, section 5.6.7), in each of the three forms that a recipient has to
/// accept: "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", and "Sun Nov  6 08:49:37 1994".
enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Seconds since 1970; nil if the text is no such date.
    static func seconds(_ text: String) -> Int64? {
        let words = text.split { " :-".contains($0) }
        if words.count == 8, words[7] == "GMT" {
            return seconds(words[3], words[2], words[1], words[4...6])
        }
        // The form of asctime(3), which is in UTC here.
        guard words.count == 7 else { return nil }
        return seconds(words[6], words[1], words[2], words[3...5])
    }

    private static func seconds(
        _ year: Substring, _ month: Substring, _ day: Substring, _ time: ArraySlice<Substring>
    ) -> Int64? {
        let clock = time.compactMap { Int64($0) }
        guard let month = months.firstIndex(where: { $0 == month }), let day = Int64(day), clock.count == 3,
            let year = Int64(year).map({ (0..<70).contains($0) ? $0 + 2000 : $0 < 100 ? $0 + 1900 : $0 })
        else { return nil }
        return UTCTime.seconds(year, Int64(month + 1), day, clock[0], clock[1], clock[2])
    }
}
