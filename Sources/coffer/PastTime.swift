internal import ArgumentParser
internal import CofferSystem
internal import FoundationEssentials

/// A time in the past, as the user gives it.
struct PastTime: ExpressibleByArgument {
    /// In seconds since 1970.
    let seconds: Int64

    static let help: ArgumentHelp = """
        A time: 2026-11-20T14:05, 2026-11-20, 14:05 for today, or 30m, 2h, 3d, 1w ago. Local time, or UTC with Z.
        """

    init?(argument: String) {
        self.init(argument, now: Clock.realTime / 1_000_000_000)
    }

    /// - Parameter now: The present time in seconds since 1970.
    init?(_ text: String, now: Int64) {
        if let ago = TimeLength.seconds(of: text) {
            seconds = now - ago
            return
        }
        let zone = text.hasSuffix("Z") ? TimeZone.gmt : .current
        let parts = (text.hasSuffix("Z") ? text.dropLast() : text[...]).split(
            maxSplits: 1, omittingEmptySubsequences: false
        ) { $0 == "T" || $0 == " " }
        let today = Date(timeIntervalSince1970: Double(now)).formatted(
            Date.ISO8601FormatStyle(timeZone: zone).year().month().day())
        let day: Substring
        // Without a time of day, the whole day counts; without seconds, the whole minute.
        var time: Substring = "23:59:59"
        if parts.count == 1, text.contains(":") {
            (day, time) = (today[...], parts[0])
        } else {
            day = parts[0]
            if parts.count > 1 { time = parts[1] }
        }
        if time.count == 5 { time += ":59" }
        let style = Date.ISO8601FormatStyle(timeZone: zone).year().month().day().dateTimeSeparator(.space)
            .time(includingFractionalSeconds: false)
        // The parser takes 25:00 for one o'clock of the next day.
        guard let date = try? style.parse("\(day) \(time)"), date.formatted(style) == "\(day) \(time)" else {
            return nil
        }
        seconds = Int64(date.timeIntervalSince1970)
    }
}

/// Lengths of time such as 30m and 14d.
enum TimeLength {
    /// The seconds of a length of time; nil for other text.
    static func seconds(of text: String) -> Int64? {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()), count >= 0
        else { return nil }
        let (seconds, overflows) = count.multipliedReportingOverflow(by: unit)
        return overflows ? nil : seconds
    }
}

/// The argument of `--history`: how long past states are kept.
struct Retention: ExpressibleByArgument {
    /// The time in seconds, 0 for “none”; nil for “forever”.
    let seconds: Int64?

    init?(argument: String) {
        switch argument {
        case "forever": seconds = nil
        case "none": seconds = 0
        default:
            guard let length = TimeLength.seconds(of: argument), length > 0 else { return nil }
            seconds = length
        }
    }
}
