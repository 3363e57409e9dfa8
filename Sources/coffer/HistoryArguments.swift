internal import ArgumentParser
internal import CofferClient
internal import CofferSystem

/// A state of a vault, as an argument.
struct PastPlaceArgument: ExpressibleByArgument {
    let place: PastPlace

    static let help: ArgumentHelp = """
        A time: 2026-11-20T14:05, 2026-11-20, 14:05 for today, or 30m, 2h, 3d, 1w ago. Local time, or UTC with Z. Or the \
        name of a snapshot.
        """

    init?(argument: String) {
        guard let place = PastPlace(argument, now: Clock.realTime / 1_000_000_000) else { return nil }
        self.place = place
    }
}

/// The argument of `--since`: what was changed in that second, minute, or day, or later, or after the snapshot.
struct SinceArgument: ExpressibleByArgument {
    let place: PastPlace
    /// The time in seconds since 1970; nil for a snapshot.
    let time: Int64?

    /// Whether it is a time that has not come yet.
    var isInFuture: Bool { time.map { $0 > Clock.realTime / 1_000_000_000 } ?? false }

    static let help = PastPlaceArgument.help

    init?(argument: String) {
        let now = Clock.realTime / 1_000_000_000
        guard let place = PastPlace(argument, now: now) else { return nil }
        guard let time = PastTime(argument, now: now) else {
            (self.place, self.time) = (place, nil)
            return
        }
        // The last second before it, so that the state before the first change is found.
        self.place = .time(time.begin - 1)
        self.time = time.begin
    }
}

/// The argument of `--history`: how long past states are kept.
struct Retention: ExpressibleByArgument {
    /// The longest time that is not “forever”: 316 years.
    private static let secondsMax: Int64 = 10_000_000_000

    /// The time in seconds, 0 for “none”; nil for “forever”.
    let seconds: Int64?

    init?(argument: String) {
        switch argument {
        case "forever": seconds = nil
        case "none": seconds = 0
        default:
            guard let length = TimeLength.seconds(of: argument), length > 0, length <= Self.secondsMax else {
                return nil
            }
            seconds = length
        }
    }

    /// How long past states are kept, in the form of the argument where that can express it: “for 2w”, “forever”.
    ///
    /// - Parameter seconds: −1 for ever; otherwise greater than 0.
    static func text(_ seconds: Int64) -> String {
        seconds < 0 ? "forever" : "for \(TimeLength.text(seconds))"
    }
}
