/// One vault key, and the time in which it seals new data; counted from 1.
package struct Epoch: Hashable, Comparable, Sendable {
    /// The number of the epoch; at least 1.
    package let number: UInt32

    package init(_ number: UInt32) {
        self.number = number
    }

    /// The first epoch of every vault.
    package static let first = Epoch(1)

    package static func < (left: Epoch, right: Epoch) -> Bool {
        left.number < right.number
    }
}
