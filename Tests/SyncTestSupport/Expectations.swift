/// The time of the tests, in nanoseconds.
package let now: Int64 = 1_800_000_000_000_000_000
/// The same in milliseconds.
package let nowMilliseconds: UInt64 = 1_800_000_000_000

/// An expected value is missing.
package struct Missing: Error {
    package init() {}
}

extension Optional {
    /// The value; throws if there is none.
    package func orThrow() throws -> Wrapped {
        guard let self else { throw Missing() }
        return self
    }
}
