package import CofferFormat

/// Compares the wraps with the members.
///
/// Every client does this on its own, so that no member has to be trusted to do it (a lesson of KBFS's box
/// audit).
package enum WrapAudit {
    /// A difference between wraps and members.
    package enum Finding: Hashable, Sendable {
        /// A link names a set that is missing, or does not match its hash: fetch it again; if that fails,
        /// another set is needed.
        case setMissing(WrapSetHash, link: UInt64)
        /// There is a set that no link of the current epoch names.
        case setWithoutLink(WrapSetHash)
        /// A set is of another vault or epoch than the link that names it, or has another signer.
        case setDoesNotFit(WrapSetHash, link: UInt64)
        /// A member has no wrap of the current epoch's key.
        case memberWithoutWrap(IdentityID)
        /// An identity has a wrap although the link does not entitle it to one.
        case strangerWithWrap(IdentityID, link: UInt64)
        /// A person who must not get the next epoch's key may have the current one: rotation is owed.
        case rotationOwed(MemberLedger.RotationReason)
    }

    /// Compares the wrap sets of the current epoch with the member chain.
    ///
    /// - Parameters:
    ///   - chain: The vault's member chain.
    ///   - sets: All sets that the storage has for the current epoch, as stored.
    /// - Returns: Nothing if every member has exactly one wrap, and no other identity has one.
    package static func findings(_ chain: MemberChain, sets: [[UInt8]]) -> Set<Finding> {
        var findings: Set<Finding> = Set(chain.state.owed.map { .rotationOwed($0) })
        var known: [WrapSetHash: WrapSet] = [:]
        for bytes in sets {
            // Bytes that are not a set have no name; the set that they should be is then missing.
            guard let set = try? WrapSet(bytes) else { continue }
            known[set.hash] = set
        }
        var wrapped: Set<IdentityID> = []
        for grant in chain.state.grants {
            guard let set = known.removeValue(forKey: grant.wraps) else {
                findings.insert(.setMissing(grant.wraps, link: grant.sequence))
                continue
            }
            guard ChainID(set.record.vault) == chain.id, set.record.epoch == chain.state.epoch,
                set.record.signer == grant.signer
            else {
                findings.insert(.setDoesNotFit(grant.wraps, link: grant.sequence))
                continue
            }
            for wrap in set.record.wraps {
                guard grant.identities.contains(wrap.identity) else {
                    findings.insert(.strangerWithWrap(wrap.identity, link: grant.sequence))
                    continue
                }
                if chain.state.members[wrap.identity]?.granted == grant.sequence {
                    wrapped.insert(wrap.identity)
                }
            }
        }
        for member in chain.state.recipients where !wrapped.contains(member.identity) {
            findings.insert(.memberWithoutWrap(member.identity))
        }
        return findings.union(known.keys.map { .setWithoutLink($0) })
    }
}
