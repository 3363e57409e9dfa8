internal import CofferFormat
internal import CofferSync
internal import CofferSystem
internal import CofferTrust

/// The open invites of one vault, stored in the profile.
struct ProfileInvites: InviteBook {
    let profile: Profile
    let vault: VaultID
    /// The thread that writes the profile.
    let thread: BlockingCalls

    func load() async throws(SyncError) -> OpenInvites {
        profile.share(of: vault)?.invites ?? OpenInvites()
    }

    func save(_ invites: OpenInvites) async throws(SyncError) {
        let (profile, vault) = (profile, vault)
        do throws(ClientError) {
            try await thread.run { () throws(ClientError) in
                try profile.changeInvites(of: vault) { $0 = invites }
            }
        } catch {
            throw .membership(.profile("\(error)"))
        }
    }
}
