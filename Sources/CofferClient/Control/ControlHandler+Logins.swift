internal import CofferCrypto
internal import CofferRemote
internal import CofferSync

// Requests about the credentials of remotes.
extension ControlHandler {
    func loginReport(on remote: String) throws(ClientError) -> RemoteLoginReport {
        let url = try remoteURL(remote)
        guard let place = url.loginPlace else { throw .remoteSetting(.noLogin(url: url.text)) }
        let profile = vaults.profile
        let users = profile.shares.filter { (try? RemoteURL($0.url))?.loginPlace == place }.map(\.vault)
        return RemoteLoginReport(
            place: place, kind: RemoteLogin.kind(of: place), user: url.loginUser,
            isSet: profile.login(at: place) != nil,
            vaults: profile.vaults.filter { users.contains($0.id) }.map(\.name))
    }

    func setLogin(
        on remote: String, user: consuming SecretBytes, secret: consuming SecretBytes,
        token: consuming SecretBytes
    ) throws(ClientError) -> RemoteLoginReport {
        let place = try loginReport(on: remote).place
        let login: RemoteLogin
        do throws(RemoteLogin.Mistake) {
            login = try RemoteLogin(at: place, user: user, secret: secret, token: token)
        } catch {
            throw .remoteSetting(.badLogin(place: place, error))
        }
        try vaults.profile.setLogin(login)
        // What was refused may be allowed now.
        for one in shared.all where (try? RemoteURL(one.share.url))?.loginPlace == place {
            one.engine.lookAgain()
        }
        return try loginReport(on: remote)
    }

    func removeLogin(on remote: String) throws(ClientError) -> RemoteLoginReport {
        let place = try loginReport(on: remote).place
        guard try vaults.profile.removeLogin(at: place) else {
            throw .remoteSetting(.notLoggedIn(place: place))
        }
        return try loginReport(on: remote)
    }

    /// The URL of a remote, which may be that of a vault, or of one that the person asks to join.
    private func remoteURL(_ remote: String) throws(ClientError) -> RemoteURL {
        if RemoteURL.hasScheme(remote) || remote.hasPrefix("/") { return try SharedVault.url(remote) }
        let profile = vaults.profile
        if let vault = profile.vaults.first(where: { $0.name.hasSameBytes(as: remote) }) {
            guard let share = profile.share(of: vault.id), share.hasRemote else {
                throw .remoteSetting(.noRemote(vault: remote))
            }
            return try SharedVault.url(share.url)
        }
        if let join = profile.joins.first(where: { $0.name.hasSameBytes(as: remote) }) {
            return try SharedVault.url(join.url)
        }
        throw .vaultName(.noSuchVault(name: remote))
    }
}
