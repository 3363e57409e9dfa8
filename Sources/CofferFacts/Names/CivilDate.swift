/// A day of the Gregorian calendar, UTC (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
package struct CivilDate: CustomStringConvertible {
    let year: UInt64, month: UInt64, day: UInt64

    /// The day of a time.
    ///
    /// - Parameter milliseconds: Since 1970; less than 2^48.
    package init(milliseconds: UInt64) {
        let days = milliseconds / 86_400_000 + 719_468
        let era = days / 146_097
        let dayOfEra = days % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shifted + 2) / 5 + 1
        month = shifted < 10 ? shifted + 3 : shifted - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// The form 2026-11-20.
    package var description: String {
        "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(day, 2))"
    }

    private static func padded(_ number: UInt64, _ count: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
}
