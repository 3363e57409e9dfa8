internal import Glibc

/// A day and a time of day, as people write them.
package struct CivilTime: Equatable, Sendable {
    /// The day; months and days count from 1.
    package var year: Int, month: Int, day: Int
    /// The time of day.
    package var hour = 0, minute = 0, second = 0

    /// A time that need not exist.
    package init(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    /// The time at some seconds since 1970.
    ///
    /// - Parameter offset: How far local time is ahead of UTC at some seconds since 1970, in seconds.
    package init(_ seconds: Int64, offset: (Int64) -> Int64) {
        var time = time_t(seconds.addingReportingOverflow(offset(seconds)).partialValue)
        var parts = unsafe tm()
        unsafe gmtime_r(&time, &parts)
        self.init(
            year: unsafe Int(parts.tm_year) + 1900, month: unsafe Int(parts.tm_mon) + 1,
            day: unsafe Int(parts.tm_mday), hour: unsafe Int(parts.tm_hour),
            minute: unsafe Int(parts.tm_min), second: unsafe Int(parts.tm_sec))
    }

    /// The seconds since 1970; nil if there is no such time, as when clocks are put forward.
    ///
    /// Of two such times, as when clocks are put back, it is the later one.
    ///
    /// - Parameter offset: As for `init`.
    package func seconds(offset: (Int64) -> Int64) -> Int64? {
        var parts = unsafe tm()
        unsafe parts.tm_year = Int32(truncatingIfNeeded: year - 1900)
        unsafe parts.tm_mon = Int32(truncatingIfNeeded: month - 1)
        unsafe parts.tm_mday = Int32(truncatingIfNeeded: day)
        unsafe parts.tm_hour = Int32(truncatingIfNeeded: hour)
        unsafe parts.tm_min = Int32(truncatingIfNeeded: minute)
        unsafe parts.tm_sec = Int32(truncatingIfNeeded: second)
        let time = Int64(unsafe timegm(&parts))
        // Not by mktime(3), whose choice between two times depends on earlier calls.
        let offsets = Set([-Self.day, 0, Self.day].map { offset(time + $0) })
        return offsets.map { time - $0 }.filter { CivilTime($0, offset: offset) == self }.max()
    }

    private static let day: Int64 = 86_400

    /// The offset of UTC.
    package static func universal(_ seconds: Int64) -> Int64 { 0 }

    /// The offset of this machine's time zone, or that of the variable TZ.
    package static func local(_ seconds: Int64) -> Int64 { localZone()(seconds) }

    /// The offset of this machine's time zone as it is now, for many times.
    package static func localZone() -> (Int64) -> Int64 {
        // localtime_r need not notice another time zone.
        tzset()
        return { seconds in
            var time = time_t(seconds)
            var parts = unsafe tm()
            unsafe localtime_r(&time, &parts)
            return unsafe Int64(parts.tm_gmtoff)
        }
    }
}
