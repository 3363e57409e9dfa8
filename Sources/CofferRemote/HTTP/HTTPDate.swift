/// Dates in headers and properties: "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, section 5.6.7).
enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Seconds since 1970; nil if the text is no such date.
    static func seconds(_ text: String) -> Int64? {
        let words = text.split { $0 == " " || $0 == ":" }
        guard words.count == 8, words[7] == "GMT", let day = Int64(words[1]), (1...31).contains(day),
            let month = months.firstIndex(where: { $0 == words[2] }), let year = Int64(words[3]),
            (1970...9999).contains(year), let hour = Int64(words[4]), (0..<24).contains(hour),
            let minute = Int64(words[5]), (0..<60).contains(minute), let second = Int64(words[6]),
            (0...60).contains(second)
        else { return nil }
        // The inverse of what `UTCTime` computes: years begin in March.
        let shiftedYear = month < 2 ? year - 1 : year
        let (era, yearOfEra) = (shiftedYear / 400, shiftedYear % 400)
        let shiftedMonth = Int64(month < 2 ? month + 10 : month - 2)
        let dayOfYear = (153 * shiftedMonth + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        return days * 86_400 + hour * 3600 + minute * 60 + second
    }
}
