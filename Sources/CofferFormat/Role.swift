/// What a member is in a vault.
package enum Role: UInt8, Sendable, CaseIterable {
    /// May do everything.
    case owner = 1
    /// May change membership, but makes no admins.
    case admin = 2
    /// May read and write.
    case writer = 3
    /// May read.
    case reader = 4
}
