package import CofferFormat

// What those who read logs ask the member chain, beside `signer(of:)`.
extension TrustChain where State == MemberLedger {
    /// All keys that an identity signed with while it was a member, in order.
    package func signingKeys(of identity: IdentityID) -> [SigningPublicKey] {
        state.standings[identity, default: []].compactMap(\.signing)
    }

    /// Whether a link is one of the chain.
    package func has(_ head: LinkHead) -> Bool {
        head.sequence < nextSequence && links[Int(head.sequence)].hash == head.hash
    }

    /// The epoch that was the present one after a link; nil without that link.
    package func epoch(after head: LinkHead) -> Epoch? {
        guard head.sequence < nextSequence else { return nil }
        return state.beginnings.last { $0.sequence <= head.sequence }?.epoch
    }

    /// The number of the last commit of a log that counts, as far as a commit of it does not count any more.
    ///
    /// - Parameter claim: A commit that once counted.
    /// - Returns: Nil if it still counts; 0 if no commit of the log does.
    package func end(of claim: CommitClaim) -> UInt64? {
        do throws(CommitRefusal) {
            _ = try signer(of: claim)
            return nil
        } catch {
            guard case .tooLate(let link) = error else { return nil }
            let bounds = state.standings[claim.author, default: []].first { $0.sequence == link }?.bounds
            return bounds?[claim.log]?.sequence ?? 0
        }
    }

    /// Whether somebody entitled has said, behind a link, that the storage has no commits of a log from this one on.
    package func hasRestored(_ dot: Dot, since members: LinkHead) -> Bool {
        state.restores.contains {
            $0.sequence > members.sequence && ($0.bounds[dot.log]?.sequence ?? 0) < dot.sequence
        }
    }
}
