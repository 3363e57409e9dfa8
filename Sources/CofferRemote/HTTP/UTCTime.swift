/// A moment as a date and a time in UTC, to the second (proleptic Gregorian calendar).
struct UTCTime: Equatable {
    let year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int

    /// The moment so many seconds after 1970, which must not be negative.
    init(secondsSince1970 seconds: Int64) {
        precondition(seconds >= 0)
        let (days, rest) = (Int(seconds / 86_400), Int(seconds % 86_400))
        (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60)
        // Years of 400-year eras that begin in March, so that the leap day comes last (Howard Hinnant,
        // "chrono-compatible low-level date algorithms").
        let shifted = days + 719_468
        let (era, dayOfEra) = (shifted / 146_097, shifted % 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Seconds since 1970; nil if a part is out of its bounds.
    static func seconds(
        _ year: Int64, _ month: Int64, _ day: Int64, _ hour: Int64, _ minute: Int64, _ second: Int64
    ) -> Int64? {
        guard (1970...9999).contains(year), (1...12).contains(month), (1...31).contains(day),
            (0..<24).contains(hour), (0..<60).contains(minute), (0...60).contains(second)
        else { return nil }
        // The inverse of the above.
        let shiftedYear = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = (shiftedYear / 400, shiftedYear % 400)
        let shiftedMonth = month <= 2 ? month + 9 : month - 3
        let dayOfYear = (153 * shiftedMonth + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        return days * 86_400 + hour * 3600 + minute * 60 + second
    }

    /// Seconds since 1970 of a text like "2013-05-24T00:00:00Z" (RFC 3339, in UTC); nil if it is none.
    static func seconds(_ text: String) -> Int64? {
        guard text.hasSuffix("Z") else { return nil }
        // A fraction of a second is left out.
        let whole = text.dropLast().prefix { $0 != "." }
        let words = whole.split(omittingEmptySubsequences: false) { "-T:".contains($0) }
        let numbers = words.compactMap { Int64($0) }
        guard words.count == 6, numbers.count == 6 else { return nil }
        return seconds(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5])
    }

    /// "20130524".
    var compactDate: String { Self.digits(year, 4) + Self.digits(month, 2) + Self.digits(day, 2) }

    /// "20130524T000000Z" (ISO 8601, basic format).
    var compact: String {
        "\(compactDate)T\(Self.digits(hour, 2))\(Self.digits(minute, 2))\(Self.digits(second, 2))Z"
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
    }
}
