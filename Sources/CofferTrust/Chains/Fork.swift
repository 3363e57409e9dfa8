package import CofferFormat

/// Two links at one place of a chain, both valid there.
///
/// If the storage creates names exclusively, this happens only if two devices do not know of each other, or
/// if the storage lies. The link that was seen first stays.
package struct Fork: Equatable, Sendable {
    /// The link that was seen first.
    package let known: LinkRecord
    /// The other one.
    package let other: LinkRecord

    /// The sequence of both links.
    package var sequence: UInt64 { known.sequence }
}
