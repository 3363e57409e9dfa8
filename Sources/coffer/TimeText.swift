/// Formats estimates of the time that work will take: “about 3 min”.
enum TimeText {
    /// The time for a number of bytes; nil if none are left, or if the speed is 0.
    static func of(_ bytes: Int64, at bytesPerSecond: Int64) -> String? {
        bytes > 0 && bytesPerSecond > 0 ? of(seconds: bytes / bytesPerSecond + 1) : nil
    }

    /// The time for the rest of work that has advanced evenly; nil if nothing is left or done.
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
