internal import CofferFormat
internal import CofferTrust

// What a member's device does for the members in each round, unasked.
extension SyncEngine {
    /// Checks that this user is a member with valid keys.
    ///
    /// - Throws: `.membership`: `.removed`, `.left`, `.revoked`; `.notMember` for a user that never was a
    ///   member.
    func checkStanding() throws(SyncError) {
        if let member = chain.state.members[ownIdentity] {
            guard member.keys != nil else { throw .membership(.revoked) }
            return
        }
        let removal = chain.state.removals.last { $0.identity == ownIdentity && !$0.hasLeft }
        guard chain.hasKnown(ownIdentity) else { throw .notMember }
        guard let removal, !hasLeft(after: removal.sequence) else { throw .membership(.left) }
        throw .membership(.removed(by: name(of: removal.remover), link: removal.sequence))
    }

    /// Whether this user came back after a link, and then left.
    private func hasLeft(after sequence: UInt64) -> Bool {
        chain.links.suffix(from: Int(sequence)).contains { link in
            let body = link.body
            guard let operation = try? unsafe MemberOperation(code: link.code, body: body.span.bytes) else {
                return false
            }
            if case .leave = operation { return chain.signer(ofLink: link.sequence) == ownIdentity }
            return false
        }
    }

    /// Continues pending changes, publishes this user's keys, and compares members and wraps with the remote;
    /// if this user may, also changes the key if that is due, and admits invited users.
    ///
    /// A step that the rules do not allow is reported, and does not stop the others.
    func tendMembers() async throws(SyncError) {
        notes.removeAll { if case .membership(.undone) = $0 { true } else { false } }
        try await tolerating { () async throws(SyncError) in try await resumePending() }
        try await tolerating { () async throws(SyncError) in try await publishOwnCard() }
        let isDue = isInspectionDue()
        if isDue {
            notes.removeAll {
                if case .membership(.putAgain) = $0 { return true }
                if case .membership(.linkMissing) = $0 { return true }
                if case .obstacle = $0 { return true }
                if case .putAgain = $0 { return true }
                if case .contentsPutAgain = $0 { return true }
                return false
            }
            try await tolerating { () async throws(SyncError) in try await lookForFork() }
            try await tolerating { () async throws(SyncError) in try await putIdentitiesAgain() }
        }
        if isDue, chain.state.may(ownIdentity, .recordKeys) {
            try await tolerating { () async throws(SyncError) in try await recordRevoked() }
        }
        try await tolerating { () async throws(SyncError) in try await boundThoseWhoLeft() }
        if !chain.state.owed.isEmpty, chain.state.may(ownIdentity, .rotate) {
            try await tolerating { () async throws(SyncError) in
                try await rotateKey { !chain.state.owed.isEmpty }
            }
        }
        if isDue { try await tolerating { () async throws(SyncError) in try await inspectWraps() } }
        if isDue, chain.state.may(ownIdentity, .rotate) {
            try await tolerating { () async throws(SyncError) in try await wrapForThoseWithout() }
        }
        // A user that may no longer admit others tells those who ask.
        let admits = chain.state.may(ownIdentity, .addMembers)
        let hasInvites = (try? await setup.invites?.load())?.isEmpty == false
        if admits || hasInvites {
            try await tolerating { () async throws(SyncError) in
                try await admitInvited(isDue: isDue && admits)
            }
        }
        try checkStanding()
    }

    private func tolerating(_ body: () async throws(SyncError) -> Void) async throws(SyncError) {
        do throws(SyncError) { try await body() } catch {
            guard case .membership(let problem) = error else { throw error }
            note(.membership(.undone(problem)))
        }
    }

    /// Ends the rights of members whose identities are revoked.
    ///
    /// Other new keys are recorded by the member itself, which knows which of its commits should count, until
    /// the vault's key is changed.
    private func recordRevoked() async throws(SyncError) {
        try await pullListedIdentities()
        for member in chain.state.recipients where member.identity != ownIdentity {
            guard identities[member.identity]?.state.isRevoked == true else { continue }
            try await recordKeys(of: member.identity)
        }
    }
}
