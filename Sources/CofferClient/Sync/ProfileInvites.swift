internal import CofferFormat
internal import CofferSync
internal import CofferTrust

/// The invites to one vault, as the profile keeps them.
struct ProfileInvites: InviteBook {
    let profile: Profile
    let vault: VaultID

    func load() async throws(SyncError) -> OpenInvites {
        profile.share(of: vault)?.invites ?? OpenInvites()
    }

    func save(_ invites: OpenInvites) async throws(SyncError) {
        do throws(ProfileError) {
            try profile.changeInvites(of: vault) { $0 = invites }
        } catch {
            throw .membership(.profile("\(error)"))
        }
    }
}
