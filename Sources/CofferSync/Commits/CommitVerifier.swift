internal import CofferFacts
package import CofferFormat
package import CofferTrust

/// A commit that everybody accepts who has the same member chain and the commits in front of it.
package struct VerifiedCommit: Equatable, Sendable {
    /// Log and sequence.
    package let dot: Dot
    /// Who made it.
    package let author: IdentityID
    /// Its hash, and what its author knew of the members.
    package let point: CommitPoint
    /// What it says.
    package let body: CommitBody
    /// Bytes as stored.
    package let byteCount: Int

    /// Which commits of other logs its author had applied.
    package var versions: VersionVector { VersionVector(body.heads) }
}

/// Checks commits, one after the other in each log; pure.
package struct CommitVerifier: Sendable {
    /// The vault.
    package let vault: VaultID
    /// The vault's root directory.
    package let root: ItemID
    /// The vault's members.
    package let chain: MemberChain
    /// The keys that this device has.
    package let keyring: Keyring

    package init(vault: VaultID, root: ItemID, chain: MemberChain, keyring: Keyring) {
        self.vault = vault
        self.root = root
        self.chain = chain
        self.keyring = keyring
    }

    /// Checks a commit that follows what is known of its log (docs/protocol.md, "Order of checks").
    ///
    /// - Parameters:
    ///   - bytes: As fetched.
    ///   - dot: The place where it was found.
    ///   - log: What is known of the log; nil if nothing is.
    ///   - owner: Whose log it is, where that is known without any commit of it.
    package func verify(
        _ bytes: [UInt8], at dot: Dot, after log: LogSummary?, of owner: IdentityID? = nil
    ) throws(CommitProblem) -> VerifiedCommit {
        let commit = try authentic(bytes, at: dot, of: log?.author ?? owner)
        guard (commit.body.introduction == nil) == (dot.sequence > 1) else { throw .wrongIntroduction }
        let expected = log?.head.hash ?? .zero
        guard commit.body.previous == expected else {
            let fork = Dot(log: dot.log, sequence: max(dot.sequence, 2) - 1)
            throw .forked(
                ForkedLog(dot: fork, known: expected, other: commit.body.previous, witness: dot))
        }
        guard commit.body.clock >= (log?.clock ?? 0) else { throw .clockGoesBack }
        guard commit.point.members.sequence >= (log?.head.members.sequence ?? 0) else { throw .membersGoBack }
        let facts = FactCommit(
            stamp: Stamp(clock: commit.body.clock, dot: dot), versions: commit.versions,
            facts: commit.body.facts)
        if let refusal = facts.refusal(root: root) { throw .facts(refusal) }
        return commit
    }

    /// Checks what does not depend on the rest of the log: place, author, right, epoch, form.
    ///
    /// - Parameter owner: Whose log it is; nil where that is not known.
    package func authentic(
        _ bytes: [UInt8], at dot: Dot, of owner: IdentityID? = nil
    ) throws(CommitProblem) -> VerifiedCommit {
        let (record, seal, body) = try opened(bytes, as: .commit, at: dot, of: owner)
        let commit: CommitBody
        do throws(FormatError) { commit = try CommitBody(padded: body) } catch {
            if case .unknown(let field, let found) = error { throw .newerContent(field: field, found: found) }
            // Its author has signed it; otherwise than the record's version, which anybody can write.
            if case .newerVersion(let found, _) = error {
                throw .newerContent(field: "version", found: found)
            }
            throw .malformed(error)
        }
        guard commit.writes == seal.writes else { throw .wrongClaim }
        guard commit.heads[dot.log] == nil else { throw .namesOwnLog }
        let hash = CommitHash(record.hash(as: .commit))
        return VerifiedCommit(
            dot: dot, author: seal.author,
            point: CommitPoint(
                sequence: dot.sequence, hash: hash, members: seal.members, writes: seal.writes),
            body: commit, byteCount: bytes.count)
    }

    /// Opens a record, once it is known who made it, and that this was that identity's right.
    ///
    /// - Parameter owner: Whose log it is; nil where that is not known.
    func opened(
        _ bytes: [UInt8], as kind: SignedRecord.Kind, at dot: Dot, of owner: IdentityID? = nil
    ) throws(CommitProblem) -> (record: SignedRecord, seal: RecordSeal, body: [UInt8]) {
        let record: SignedRecord
        do throws(FormatError) { record = try SignedRecord(bytes, as: kind) } catch {
            if case .newerVersion(let found, let supported) = error {
                throw .newerVersion(found: found, supported: supported)
            }
            throw .damaged(error)
        }
        guard record.vault == vault, record.dot == dot else { throw .elsewhere }
        guard let key = keyring[record.epoch] else { throw .unknownEpoch(record.epoch) }
        guard let seal = try? record.openSeal(as: kind, under: key) else {
            throw isOfLostSide(record, kind) ? .right(.otherHead) : .notAuthentic
        }
        // Before the author's right: what somebody else does in a log must not end it.
        if let owner, seal.author != owner {
            throw isSigned(record, seal, kind) ? .otherAuthor(seal.author) : .notAuthentic
        }
        try check(record, seal, kind)
        let expected = chain.epoch(after: seal.members)
        guard let expected, expected == record.epoch else {
            throw .wrongEpoch(record.epoch, expected: expected ?? .first)
        }
        guard let body = try? record.openBody(as: kind, under: key) else { throw .notAuthentic }
        return (record, seal, body)
    }

    /// Whether an identity has signed a commit, whichever links of the members that names.
    ///
    /// - Parameter keys: The identity's keys, beside those that it had as a member.
    func isSigned(
        _ bytes: [UInt8], at dot: Dot, by identity: IdentityID, keys: [SigningPublicKey]
    ) -> Bool {
        guard let record = try? SignedRecord(bytes, as: .commit), record.vault == vault, record.dot == dot,
            let key = keyring[record.epoch], let seal = try? record.openSeal(as: .commit, under: key),
            seal.author == identity
        else { return false }
        return isSigned(record, seal, .commit)
            || keys.contains { (try? record.check(seal, as: .commit, by: $0)) != nil }
    }

    /// Whether a member has made a record on a side of a fork of the members that was lost, under its key.
    private func isOfLostSide(_ record: SignedRecord, _ kind: SignedRecord.Kind) -> Bool {
        keyring.lost.contains { key in
            guard key.epoch == record.epoch, let seal = try? record.openSeal(as: kind, under: key) else {
                return false
            }
            return !chain.has(seal.members) && isSigned(record, seal, kind)
        }
    }

    /// What a commit says that names links of a lost side of a fork, and so counts for nobody.
    ///
    /// - Parameter author: Who made it; what it has applied of this author's was verified once.
    /// - Returns: Nil if it is no commit of this author, or the chain has the link.
    package func lostCommit(_ bytes: [UInt8], at dot: Dot, by author: IdentityID) -> CommitBody? {
        guard let record = try? SignedRecord(bytes, as: .commit), record.vault == vault, record.dot == dot
        else { return nil }
        let keys = [keyring[record.epoch]].compactMap(\.self) + keyring.lost
        for key in keys where key.epoch == record.epoch {
            guard let seal = try? record.openSeal(as: .commit, under: key) else { continue }
            guard seal.author == author, !chain.has(seal.members), isSigned(record, seal, .commit),
                let body = try? record.openBody(as: .commit, under: key)
            else { return nil }
            return try? CommitBody(padded: body)
        }
        return nil
    }

    private func check(
        _ record: SignedRecord, _ seal: RecordSeal, _ kind: SignedRecord.Kind
    ) throws(CommitProblem) {
        guard kind == .commit else {
            // The author's right is that of the commit which announces the checkpoint.
            guard isSigned(record, seal, kind) else { throw .notAuthentic }
            return
        }
        let claim = CommitClaim(
            author: seal.author, log: record.dot.log, sequence: record.dot.sequence,
            hash: CommitHash(record.hash(as: kind)), head: seal.members, writes: seal.writes)
        let signer: SigningPublicKey
        do throws(CommitRefusal) { signer = try chain.signer(of: claim) } catch {
            guard error != .unknownHead else { throw .unknownMembers(seal.members) }
            // Whoever has the keys might have made up the author; nobody is to be blamed wrongly.
            guard isSigned(record, seal, kind) else { throw .notAuthentic }
            throw .right(error)
        }
        do { try record.check(seal, as: kind, by: signer) } catch { throw .notAuthentic }
    }

    /// Whether the author has signed, with the key that it has or had as a member.
    private func isSigned(_ record: SignedRecord, _ seal: RecordSeal, _ kind: SignedRecord.Kind) -> Bool {
        chain.signingKeys(of: seal.author).contains { key in
            (try? record.check(seal, as: kind, by: key)) != nil
        }
    }
}
