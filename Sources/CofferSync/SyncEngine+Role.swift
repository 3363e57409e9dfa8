package import CofferFormat
internal import CofferTrust

extension SyncEngine {
    /// What this user may do in the vault; nil if it is no member, or not known to be one.
    package var role: Role? {
        let member = chain.state.members[setup.keys.author.identity]
        return member?.keys == nil ? nil : member?.role
    }
}
