internal import CofferSystem
internal import CofferVault

/// Which state of a vault is meant.
package enum PastPlace: Codable, Equatable, Sendable {
    /// The state of a time, in seconds since 1970.
    case time(Int64)
    /// That with a name.
    case snapshot(String)

    /// Reads a time in whole seconds, as a person writes it, or the name of a snapshot; nil if it is neither.
    ///
    /// - Parameter now: The present time in seconds since 1970.
    package init?(_ text: String, now: Int64) {
        if let time = PastTime(text, now: now) {
            // Requests have whole seconds.
            if time.isExact { return nil }
            self = .time(time.seconds)
        } else if SnapshotName(text) != nil {
            self = .snapshot(text)
        } else {
            return nil
        }
    }
}
