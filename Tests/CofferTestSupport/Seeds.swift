internal import Glibc

/// The seeds of tests that cut the power at random.
package enum Seeds {
    /// The first so many seeds, or those of the environment's COFFER_SEEDS, as in "1000-1999".
    ///
    /// Runs of many hours take fresh seeds each time; a failed test names its seed.
    package static func first(_ count: UInt64) -> ClosedRange<UInt64> {
        guard let text = getenv("COFFER_SEEDS") else { return 0...count - 1 }
        let words = String(cString: text).split(separator: "-").map { UInt64($0) }
        guard words.count == 2, let from = words[0], let to = words[1], from <= to else {
            preconditionFailure("COFFER_SEEDS is not like 1000-1999: \(String(cString: text))")
        }
        return from...to
    }
}
