package import CofferFormat

// What lists of members and admissions need from the member chain.
extension TrustChain where State == MemberLedger {
    /// Whether a link admitted a person with an invite.
    package func hasUsed(_ invite: InviteID) -> Bool { user(of: invite) != nil }

    /// The person whom an invite admitted, whether or not they are still a member; nil if nobody has used it.
    package func user(of invite: InviteID) -> IdentityID? { state.usedInvites[invite] }

    /// Whether an identity is or ever was a member.
    package func hasKnown(_ identity: IdentityID) -> Bool { state.standings[identity] != nil }

    /// Whether the bytes are a signed link for a place of this chain, whether or not its signer had the
    /// right.
    package func isLink(_ bytes: [UInt8], at sequence: UInt64) -> Bool {
        guard let link = try? verified(bytes) else { return false }
        return link.sequence == sequence
    }

    /// Whether the bytes are a later link of this chain, signed by a member who may add members, as far as
    /// the chain is known.
    package func mayHaveLink(_ bytes: [UInt8], at sequence: UInt64) -> Bool {
        guard let link = try? verified(bytes), link.sequence == sequence, sequence >= nextSequence,
            let signer = state.member(signing: link.signer)
        else { return false }
        return state.may(signer.identity, .addMembers)
    }

    /// Whether a link from a place on makes an identity a member, or changes its rights or keys.
    package func hasChanged(_ identity: IdentityID, since sequence: UInt64) -> Bool {
        state.standings[identity, default: []].contains { $0.sequence >= sequence }
    }

    /// The identity that signed a link; nil if the chain does not have the link.
    package func signer(ofLink sequence: UInt64) -> IdentityID? {
        guard sequence < nextSequence else { return nil }
        let key = links[Int(sequence)].signer
        return state.standings.first { $0.value.contains { $0.signing == key } }?.key
    }

    /// Whether a member is the only owner with valid keys, so that it can leave only with a successor.
    package func isLastOwner(_ identity: IdentityID) -> Bool {
        state.owners.count == 1 && state.owners.first?.identity == identity
    }
}
