/// The role of a member in a vault; `Permission` in CofferTrust lists the rights of each.
package enum Role: UInt8, Sendable, CaseIterable {
    /// May do everything.
    case owner = 1
    /// May read, write, and change the membership, but cannot make admins.
    case admin = 2
    /// May read and write.
    case writer = 3
    /// May read.
    case reader = 4
}
