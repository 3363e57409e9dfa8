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
