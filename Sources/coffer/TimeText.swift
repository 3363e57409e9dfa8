/// How long work will take, for people.
enum TimeText {
    /// “about 3 min”; nil where nothing is left, or nothing moves.
    static func of(_ bytes: Int64, at bytesPerSecond: Int64) -> String? {
        bytes > 0 && bytesPerSecond > 0 ? of(seconds: bytes / bytesPerSecond + 1) : nil
    }

    /// The same for what was done at an even pace so far, since a number of nanoseconds.
    static func of(_ left: Int, after done: Int, in nanoseconds: Int64) -> String? {
        guard left > 0, done > 0, nanoseconds > 0 else { return nil }
        return of(seconds: Int64(Double(nanoseconds) / 1e9 * Double(left) / Double(done)) + 1)
    }

    private static func of(seconds: Int64) -> String {
        switch seconds {
        case ..<100: return "about \(seconds) s"
        case ..<6000: return "about \(seconds / 60) min"
        case ..<360_000: return "about \(seconds / 3600) h"
        default: return "days"
        }
    }
}
