package import CofferFormat

/// Whether wraps and members agree.
///
/// Every client checks this on its own, so that nobody has to be trusted to do it (lesson of KBFS's box audit).
package enum WrapAudit {
    /// Something that does not agree.
    package enum Finding: Hashable, Sendable {
        /// A link names a set that is not there, or is not what it was: fetch again, then another set is owed.
        case setMissing(WrapSetHash, link: UInt64)
        /// A set is there that no link of the present epoch names.
        case setWithoutLink(WrapSetHash)
        /// A set is for another vault or epoch, or by another signer, than the link that names it.
        case setDoesNotFit(WrapSetHash, link: UInt64)
        /// A member has no wrap of the present epoch's key.
        case memberWithoutWrap(IdentityID)
        /// Somebody has a wrap whom the link did not entitle.
        case strangerWithWrap(IdentityID, link: UInt64)
        /// Somebody has the present epoch's key who should not have the next one's: rotation is owed.
        case rotationOwed(MemberLedger.RotationReason)
    }

    /// Compares the wrap sets of the present epoch with what the member chain says.
    ///
    /// - Parameters:
    ///   - chain: The vault's.
    ///   - sets: All sets that the storage has for the present epoch, as stored.
    /// - Returns: Nothing if every member has exactly one wrap, and nobody else has any.
    package static func findings(_ chain: MemberChain, sets: [[UInt8]]) -> Set<Finding> {
        var findings: Set<Finding> = Set(chain.state.owed.map { .rotationOwed($0) })
        var known: [WrapSetHash: WrapSet] = [:]
        for bytes in sets {
            // What is no set at all has no name; the one that it should be is then missing.
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
