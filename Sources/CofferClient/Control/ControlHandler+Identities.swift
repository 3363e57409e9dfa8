internal import CofferFormat
internal import CofferTrust

// Requests about identities.
extension ControlHandler {
    func ownIdentity() throws(ClientError) -> IdentityReport {
        let card = try vaults.profile.identityCard()
        guard let identity = card.identity.identity else { throw .trust(.wrongPlace) }
        return report(of: identity, card.name, card: card.text)
    }

    func verify(_ target: IdentityTarget, _ words: String?) throws(ClientError) -> IdentityReport {
        let (identity, name, claimed) = try identity(of: target)
        if let words {
            switch Fingerprint(of: identity).compare(with: words) {
            case .same: try vaults.profile.recordVerified(identity, called: claimed)
            case .differs(let word): throw .member(.otherWords(first: word))
            case .wrongCount: throw .member(.otherWords(first: nil))
            }
        }
        return report(of: identity, name, card: nil)
    }

    /// Returns the identity that is meant, the name to show for it, and the name that it claims.
    private func identity(
        of target: IdentityTarget
    ) throws(ClientError) -> (IdentityID, String, claimed: String?) {
        switch target {
        case .member(let vault, let member):
            let shared = try shared.named(vault)
            let found = try shared.member(member)
            return (found.identity, found.name, try shared.claimedName(of: found.identity))
        case .card(let text):
            do throws(TrustError) {
                let card = try IdentityCard(text: text)
                guard let identity = card.identity.identity else { throw .wrongPlace }
                return (identity, card.name, card.name)
            } catch {
                throw .trust(error)
            }
        }
    }

    private func report(of identity: IdentityID, _ name: String, card: String?) -> IdentityReport {
        IdentityReport(
            name: name, identity: identity.description, fingerprint: Fingerprint(of: identity).description,
            card: card, isVerified: vaults.profile.hasVerified(identity))
    }
}
