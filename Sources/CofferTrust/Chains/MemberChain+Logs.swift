package import CofferFormat

// What readers of logs need from the member chain, besides `signer(of:)`.
extension TrustChain where State == MemberLedger {
    /// All keys that an identity signed with while it was a member, in their order.
    package func signingKeys(of identity: IdentityID) -> [SigningPublicKey] {
        state.standings[identity, default: []].compactMap(\.signing)
    }

    /// Whether the chain contains a link.
    package func has(_ head: LinkHead) -> Bool {
        head.sequence < nextSequence && links[Int(head.sequence)].hash == head.hash
    }

    /// The epoch that was current after a link; nil if the chain does not have the link.
    package func epoch(after head: LinkHead) -> Epoch? {
        guard head.sequence < nextSequence else { return nil }
        return state.beginnings.last { $0.sequence <= head.sequence }?.epoch
    }

    /// The number of the last commit of a log that counts, if a commit of the log no longer counts.
    ///
    /// - Parameter claim: A commit that counted before.
    /// - Returns: Nil if it still counts; 0 if no commit of the log counts.
    package func end(of claim: CommitClaim) -> UInt64? {
        do throws(CommitRefusal) {
            _ = try signer(of: claim)
            return nil
        } catch {
            guard case .tooLate(let link, _) = error else { return nil }
            let bounds = state.standings[claim.author, default: []].first { $0.sequence == link }?.bounds
            return bounds?[claim.log]?.sequence ?? 0
        }
    }

    /// The last link behind another link that bounds the logs of an identity; nil if there is none.
    package func boundingLink(of identity: IdentityID, behind members: LinkHead) -> UInt64? {
        state.standings[identity, default: []].last {
            $0.sequence > members.sequence && $0.bounds != nil
        }?.sequence
    }

    /// The last commits that count of logs whose author's right has ended, or changed.
    package var bounds: [LogBound] {
        state.standings.values.flatMap { $0 }.flatMap { $0.bounds?.bounds ?? [] }
    }

    /// Whether a link after `members` announces a restore to a state in which the storage has no commits of
    /// the log from this one on.
    package func hasRestored(_ dot: Dot, since members: LinkHead) -> Bool {
        state.restores.contains {
            $0.sequence > members.sequence && ($0.bounds[dot.log]?.sequence ?? 0) < dot.sequence
        }
    }
}
