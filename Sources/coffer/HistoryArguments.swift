internal import ArgumentParser
internal import CofferSystem

/// A time in the past, as an argument.
struct PastTimeArgument: ExpressibleByArgument {
    /// In seconds since 1970.
    let seconds: Int64

    static let help: ArgumentHelp = """
        A time: 2026-11-20T14:05, 2026-11-20, 14:05 for today, or 30m, 2h, 3d, 1w ago. Local time, or UTC with Z.
        """

    init?(argument: String) {
        // Requests have whole seconds.
        guard let time = PastTime(argument, now: Clock.realTime / 1_000_000_000), !time.isExact else {
            return nil
        }
        seconds = time.seconds
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
