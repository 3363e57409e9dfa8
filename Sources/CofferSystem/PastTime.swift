/// A time in the past, as a person writes it.
package struct PastTime: Sendable {
    /// In seconds since 1970.
    package let seconds: Int64
    /// The first second since 1970 that is meant: without seconds, the minute begins with it, and without a time of day,
    /// the day.
    package let begin: Int64
    /// The last nanosecond since 1970 that is meant: without seconds, the whole minute counts, and without a time of
    /// day, the whole day.
    package let end: Int64
    /// Whether it has a fraction of a second, and means one nanosecond.
    package let isExact: Bool

    private static let billion: Int64 = 1_000_000_000

    /// Reads 2026-11-20T14:05, 2026-11-20, 14:05, or 30m, 2h, 3d, 1w ago; in local time, or UTC with Z.
    ///
    /// Seconds may have a fraction.
    ///
    /// - Parameters:
    ///   - now: The present time in seconds since 1970.
    ///   - local: The time zone, as in `CivilTime`.
    package init?(_ text: String, now: Int64, local: (Int64) -> Int64 = CivilTime.local) {
        if let ago = TimeLength.seconds(of: text) {
            let seconds = now.subtractingClamped(ago)
            self.init(begin: seconds, seconds: seconds, fraction: nil)
            return
        }
        let isUTC = text.hasSuffix("Z")
        let parts = (isUTC ? text.dropLast() : text[...]).split(
            maxSplits: 1, omittingEmptySubsequences: false
        ) { $0 == "T" || $0 == " " }
        let isTimeOnly = parts.count == 1 && text.contains(":")
        let offset = isUTC ? CivilTime.universal : local
        var time = CivilTime(now, offset: offset)
        if !isTimeOnly {
            guard let day = Self.numbers(parts[0], "-", widths: [4, 2, 2]) else { return nil }
            (time.year, time.month, time.day) = (day[0], day[1], day[2])
        }
        (time.hour, time.minute, time.second) = (23, 59, 59)
        var begin = time
        (begin.hour, begin.minute, begin.second) = (0, 0, 0)
        var fraction: Int64?
        if isTimeOnly || parts.count > 1 {
            var clock = isTimeOnly ? parts[0] : parts[1]
            let hasSeconds = clock.utf8.count != 5
            if !hasSeconds { clock += ":59" }
            if let point = clock.firstIndex(of: ".") {
                guard let nanoseconds = Self.nanoseconds(clock[point...].dropFirst()) else { return nil }
                fraction = nanoseconds
                clock = clock[..<point]
            }
            guard let numbers = Self.numbers(clock, ":", widths: [2, 2, 2]) else { return nil }
            (time.hour, time.minute, time.second) = (numbers[0], numbers[1], numbers[2])
            begin = time
            if !hasSeconds { begin.second = 0 }
        }
        guard let seconds = time.seconds(offset: offset) else { return nil }
        self.init(begin: begin.seconds(offset: offset) ?? seconds, seconds: seconds, fraction: fraction)
    }

    private init(begin: Int64, seconds: Int64, fraction: Int64?) {
        self.begin = begin
        self.seconds = seconds
        isExact = fraction != nil
        let (start, overflows) = seconds.multipliedReportingOverflow(by: Self.billion)
        let (end, exceeds) = start.addingReportingOverflow(fraction ?? Self.billion - 1)
        self.end = overflows || exceeds ? seconds < 0 ? .min : .max : end
    }

    /// The forms in which a time may be written that is given in nanoseconds, the simplest first.
    ///
    /// - Parameter local: The time zone, as in `CivilTime`.
    package static func forms(of time: Int64, local: (Int64) -> Int64 = CivilTime.local) -> [String] {
        let seconds = time >= 0 ? time / billion : (time - billion + 1) / billion
        let fraction = "." + padded(Int(time - seconds * billion), 9)
        let local = text(CivilTime(seconds, offset: local))
        let universal = text(CivilTime(seconds, offset: CivilTime.universal))
        return [local, universal + "Z", local + fraction, universal + fraction + "Z"]
    }

    private static func text(_ time: CivilTime) -> String {
        let day = [padded(time.year, 4), padded(time.month, 2), padded(time.day, 2)].joined(separator: "-")
        let clock = [time.hour, time.minute, time.second].map { padded($0, 2) }.joined(separator: ":")
        return "\(day)T\(clock)"
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }

    /// The numbers between separators, each with the given number of digits.
    private static func numbers(_ text: Substring, _ separator: Character, widths: [Int]) -> [Int]? {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == widths else { return nil }
        let numbers = parts.compactMap { isDigits($0) ? Int($0) : nil }
        return numbers.count == widths.count ? numbers : nil
    }

    private static func nanoseconds(_ digits: Substring) -> Int64? {
        guard (1...9).contains(digits.utf8.count), isDigits(digits) else { return nil }
        return Int64(digits + String(repeating: "0", count: 9 - digits.utf8.count))
    }

    private static func isDigits(_ text: Substring) -> Bool {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}

/// Lengths of time such as 30m and 14d.
package enum TimeLength {
    private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]

    /// A length of time in the largest unit of which it is a multiple: “2w” for 1,209,600 seconds.
    package static func text(_ seconds: Int64) -> String {
        let unit = units.filter { seconds % $0.value == 0 }.max { $0.value < $1.value }
        return unit.map { "\(seconds / $0.value)\($0.key)" } ?? "\(seconds)s"
    }

    /// The seconds of a length of time; nil for other text.
    package static func seconds(of text: String) -> Int64? {
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()), count >= 0
        else { return nil }
        let (seconds, overflows) = count.multipliedReportingOverflow(by: unit)
        return overflows ? nil : seconds
    }
}

extension Int64 {
    fileprivate func subtractingClamped(_ other: Int64) -> Int64 {
        let (rest, overflows) = subtractingReportingOverflow(other)
        return overflows ? .min : rest
    }
}
