internal import CofferSystem

/// A name that a snapshot can have.
package struct SnapshotName: Equatable, Sendable {
    /// The greatest length, in bytes.
    package static let byteCountMax = 100
    /// The name in the mount of the present state, which no snapshot has.
    package static let present = "now"

    /// The name in UTF-8.
    package let bytes: [UInt8]

    /// Checks a name; nil if it cannot be that of a snapshot.
    ///
    /// Commands, and the mount, take names and times in the same place. So no name reads as a time, in any time zone.
    package init?(_ text: String) {
        bytes = Array(text.utf8)
        guard (1...Self.byteCountMax).contains(bytes.count), ![".", "..", Self.present].contains(text),
            text.unicodeScalars.allSatisfy({ $0 != "/" && !Self.isControl($0) }),
            // An option begins with it.
            text.first != "-", Self.isVisible(text),
            // In UTC, each time of each day exists.
            PastTime(text, now: 0, local: CivilTime.universal) == nil
        else { return nil }
    }

    /// Whether a person sees where a text begins and ends.
    private static func isVisible(_ text: String) -> Bool {
        let ends = [text.unicodeScalars.first, text.unicodeScalars.last]
        return ends.allSatisfy { end in
            guard let properties = end?.properties else { return false }
            return !properties.isWhitespace && properties.generalCategory != .format
        }
    }

    /// Whether a character would break the lines of a list.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
    }
}
