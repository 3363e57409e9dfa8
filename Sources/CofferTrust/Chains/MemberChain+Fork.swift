package import CofferFormat

/// Which of two links at one place counts.
package enum ForkVerdict: Equatable, Sendable {
    /// The link that was seen first.
    case knownStands
    /// The known link: the known chain removes the signer of the other one, takes rights from it, or
    /// introduces other keys for it.
    ///
    /// A removed member cannot undo the removal.
    case otherIsByRemoved
    /// The other link: it removes the signer of the known one and of all links that follow it.
    case otherRemovesSigner
}

extension TrustChain where State == MemberLedger {
    /// Makes a member chain from its links.
    ///
    /// - Throws: Whatever `append` throws.
    package init(
        _ vault: VaultID, replaying links: [[UInt8]], knowing identities: KnownIdentities
    ) throws(TrustError) {
        self.init(id: ChainID(vault))
        for link in links { try append(link, knowing: identities) }
    }

    /// Decides a fork as far as a rule decides it (docs/trust.md, "Forks").
    ///
    /// The link that was seen first stays, with one exception: a removal stands against links by the removed
    /// member, and against no others. The known chain stands if another member's link would be lost, or if it
    /// removes the signer of the other link, takes rights from it, or introduces other keys for it. So a
    /// member who was removed or got a lower role, or a thief of a key that was replaced, cannot return by
    /// means of an old removal.
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

    /// Whether links from a place on took anything from a member: membership, rights, or the key that it
    /// signed with.
    private func hasLost(_ member: MemberLedger.Member, since sequence: UInt64) -> Bool {
        state.standings[member.identity, default: []].contains { standing in
            guard standing.sequence >= sequence else { return false }
            guard let role = standing.role, standing.signing == member.keys?.signing else { return true }
            return !role.permissions.isSuperset(of: member.role.permissions)
        }
    }

    /// The chain with the other link of a fork, instead of the known link and those after it.
    ///
    /// For `.otherRemovesSigner`, and for forks that the user decides.
    package func adopting(
        _ fork: Fork, knowing identities: KnownIdentities
    ) throws(TrustError) -> MemberChain {
        var chain = try prefix(before: fork.sequence, knowing: identities)
        try chain.append(fork.other.bytes, knowing: identities)
        return chain
    }
}
