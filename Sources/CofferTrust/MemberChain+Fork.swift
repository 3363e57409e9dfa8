package import CofferFormat

/// Which of two links at one place stands.
package enum ForkVerdict: Equatable, Sendable {
    /// The one that was seen first.
    case knownStands
    /// The known one: the chain removes the other one's signer, or takes rights or the key from it. A removal stands
    /// against the removed.
    case otherIsByRemoved
    /// The other one: it removes the signer of the known one, and of all that follow it.
    case otherRemovesSigner
}

extension TrustChain where State == MemberLedger {
    /// A member chain, replayed from its links.
    ///
    /// - Throws: whatever `append` throws.
    package init(
        _ vault: VaultID, replaying links: [[UInt8]], knowing identities: KnownIdentities
    ) throws(TrustError) {
        self.init(id: ChainID(vault))
        for link in links { try append(link, knowing: identities) }
    }

    /// Settles a fork as far as that can be done without anybody's word.
    ///
    /// What was seen first stays, with one exception: a removal stands against links by the removed. It does so
    /// only against those: where somebody else's link would be lost, or the known chain removes the other one's
    /// signer, or takes rights or the key from it, the known chain stands. So nobody who was removed or made less, and
    /// no thief of a key that was replaced, can bring up an old removal to come back.
    package func verdict(
        on fork: Fork, knowing identities: KnownIdentities
    ) throws(TrustError) -> ForkVerdict {
        let before = try state(before: fork.sequence, knowing: identities)
        let from = Int(clamping: fork.sequence)
        guard from < links.count, links[from] == fork.known else { throw .notLinked(sequence: fork.sequence) }
        let since = links[from...]
        if let signer = before.member(signing: fork.other.signer), hasLost(signer, since: fork.sequence) {
            return .otherIsByRemoved
        }
        let operation = try reading { () throws(FormatError) in
            try unsafe MemberOperation(code: fork.other.code, body: fork.other.body.span.bytes)
        }
        guard case .removeMember(let removed, _, _) = operation,
            let signer = before.members[removed]?.keys?.signing,
            since.allSatisfy({ $0.signer == signer })
        else { return .knownStands }
        return .otherRemovesSigner
    }

    /// Whether links from a place on have taken anything from somebody: membership, rights, or the key it signed with.
    private func hasLost(_ member: MemberLedger.Member, since sequence: UInt64) -> Bool {
        state.standings[member.identity, default: []].contains { standing in
            guard standing.sequence >= sequence else { return false }
            guard let role = standing.role, standing.signing == member.keys?.signing else { return true }
            return !role.permissions.isSuperset(of: member.role.permissions)
        }
    }

    /// The chain with the other link of a fork, without the known one and what follows it.
    ///
    /// For `.otherRemovesSigner`, and where the user decides.
    package func adopting(
        _ fork: Fork, knowing identities: KnownIdentities
    ) throws(TrustError) -> MemberChain {
        var chain = try prefix(before: fork.sequence, knowing: identities)
        try chain.append(fork.other.bytes, knowing: identities)
        return chain
    }
}
