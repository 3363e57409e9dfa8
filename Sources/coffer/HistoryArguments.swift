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
