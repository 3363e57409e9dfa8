/// A time at which the tests play, in nanoseconds.
package let now: Int64 = 1_800_000_000_000_000_000
/// The same in milliseconds.
package let nowMilliseconds: UInt64 = 1_800_000_000_000

/// Something was expected that is not there.
package struct Missing: Error {
    package init() {}
}

extension Optional {
    /// The value; throws where there is none.
    package func orThrow() throws -> Wrapped {
        guard let self else { throw Missing() }
        return self
    }
}
