package import CofferFormat

/// Two links at one place of a chain, both signed by somebody who was entitled to.
///
/// Where the storage creates exclusively this needs two devices that do not know of each other, or a storage
/// that lies. The link that was seen first stays.
package struct Fork: Equatable, Sendable {
    /// The link that was seen first.
    package let known: LinkRecord
    /// The other one.
    package let other: LinkRecord

    /// The place of both.
    package var sequence: UInt64 { known.sequence }
}
