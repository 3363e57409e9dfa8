/// One vault key and the time for which it sealed new data; counted from 1.
package struct Epoch: Hashable, Comparable, Sendable {
    /// At least 1.
    package let number: UInt32

    package init(_ number: UInt32) {
        self.number = number
    }

    /// The epoch that a new vault starts with.
    package static let first = Epoch(1)

    package static func < (left: Epoch, right: Epoch) -> Bool {
        left.number < right.number
    }
}
