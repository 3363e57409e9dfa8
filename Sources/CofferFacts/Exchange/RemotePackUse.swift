/// What contents of a device refer to in a pack at the remote.
package struct RemotePackUse: Equatable, Sendable {
    /// The sealed bytes, in whole extents and pages.
    package private(set) var byteCount = 0
    /// Whether only the history refers to some of it, which therefore cannot move.
    package private(set) var hasPast = false

    /// Nothing.
    package init() {}

    /// Adds an extent or a page.
    package mutating func add(_ count: Int, isPresent: Bool) {
        byteCount += count
        if !isPresent { hasPast = true }
    }
}
