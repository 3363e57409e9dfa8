package import CofferFormat

// What a list of members and an admission ask the member chain.
extension TrustChain where State == MemberLedger {
    /// Whether a link admits somebody by an invite.
    package func hasUsed(_ invite: InviteID) -> Bool { state.usedInvites.contains(invite) }

    /// Whether somebody is a member or ever was one.
    package func hasKnown(_ identity: IdentityID) -> Bool { state.standings[identity] != nil }

    /// Whether some bytes are a link for a place of this chain that somebody has signed, entitled or not.
    package func isLink(_ bytes: [UInt8], at sequence: UInt64) -> Bool {
        guard let link = try? verified(bytes) else { return false }
        return link.sequence == sequence
    }

    /// Whether somebody who may change members, as far as the chain is known, has signed a later link of it.
    package func mayHaveLink(_ bytes: [UInt8], at sequence: UInt64) -> Bool {
        guard let link = try? verified(bytes), link.sequence == sequence, sequence >= nextSequence,
            let signer = state.member(signing: link.signer)
        else { return false }
        return state.may(signer.identity, .addMembers)
    }

    /// Whether a link from a place on makes somebody a member, or changes what it may do.
    package func hasChanged(_ identity: IdentityID, since sequence: UInt64) -> Bool {
        state.standings[identity, default: []].contains { $0.sequence >= sequence }
    }

    /// Who signed a link; nil without that link.
    package func signer(ofLink sequence: UInt64) -> IdentityID? {
        guard sequence < nextSequence else { return nil }
        let key = links[Int(sequence)].signer
        return state.standings.first { $0.value.contains { $0.signing == key } }?.key
    }

    /// Whether a member is the only owner whose keys are valid, and so leaves only with a successor.
    package func isLastOwner(_ identity: IdentityID) -> Bool {
        state.owners.count == 1 && state.owners.first?.identity == identity
    }
}
