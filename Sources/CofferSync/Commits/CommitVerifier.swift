internal import CofferFacts
package import CofferFormat
package import CofferTrust

/// A commit that every device accepts if it has the same member chain and the commits before it.
package struct VerifiedCommit: Equatable, Sendable {
    /// Its log and sequence.
    package let dot: Dot
    /// The identity that made it.
    package let author: IdentityID
    /// Its hash, and the link of the member chain that it names.
    package let point: CommitPoint
    /// Its contents.
    package let body: CommitBody
    /// Its size as stored, in bytes.
    package let byteCount: Int

    /// The commits of other logs that its author had applied.
    package var versions: VersionVector { VersionVector(body.heads) }

    /// What it changes.
    ///
    /// - Parameter needs: The commits of other logs that it needs and that count.
    func change(after needs: VersionVector) -> FactCommit {
        FactCommit(
            stamp: Stamp(clock: body.clock, dot: dot), versions: needs, label: body.introduction?.label,
            facts: body.facts)
    }
}

/// Checks the commits of each log in order; does no I/O, and keeps no state.
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

    /// Checks a commit against the commits before it in its log (docs/protocol.md, "Order of checks").
    ///
    /// - Parameters:
    ///   - bytes: The record as fetched.
    ///   - dot: The place where it was found.
    ///   - log: The log's state before it; nil if nothing of the log is known.
    ///   - owner: The log's owner, if known without any of its commits.
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
    /// - Parameter owner: The log's owner; nil if unknown.
    package func authentic(
        _ bytes: [UInt8], at dot: Dot, of owner: IdentityID? = nil
    ) throws(CommitProblem) -> VerifiedCommit {
        let (record, seal, body) = try opened(bytes, as: .commit, at: dot, of: owner)
        let commit: CommitBody
        do throws(FormatError) { commit = try CommitBody(padded: body) } catch {
            if case .unknown(let field, let found) = error { throw .newerContent(field: field, found: found) }
            // The author has signed this version, unlike the record's, which anybody can write.
            if case .newerVersion(let found, _) = error {
                throw .newerContent(field: "version", found: found)
            }
            throw .malformed(error)
        }
        guard commit.writes == seal.writes else { throw .wrongClaim }
        guard commit.heads[dot.log] == nil else { throw .namesOwnLog }
        if commit.facts.contains(where: \.isMove) {
            let role = chain.role(of: seal.author, after: seal.members.sequence)
            guard role?.may(.moveContents) == true else { throw .right(.missingRight(.moveContents)) }
        }
        let hash = CommitHash(record.hash(as: .commit))
        return VerifiedCommit(
            dot: dot, author: seal.author,
            point: CommitPoint(
                sequence: dot.sequence, hash: hash, members: seal.members, writes: seal.writes),
            body: commit, byteCount: bytes.count)
    }

    /// Opens a record after checking its author and that author's right.
    ///
    /// - Parameter owner: The log's owner; nil if unknown.
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
        // Checked before the author's right: another member's commit must not end the log.
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

    /// Whether an identity has signed a commit, whatever links of the member chain the commit names.
    ///
    /// - Parameter keys: Keys of the identity, in addition to those that it had as a member.
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

    /// Whether a member made a record on the lost side of a fork of the member chain, under its key.
    private func isOfLostSide(_ record: SignedRecord, _ kind: SignedRecord.Kind) -> Bool {
        keyring.lost.contains { key in
            guard key.epoch == record.epoch, let seal = try? record.openSeal(as: kind, under: key) else {
                return false
            }
            return !chain.has(seal.members) && isSigned(record, seal, kind)
        }
    }

    /// The body of a commit that names links on the lost side of a fork, and so counts nowhere.
    ///
    /// - Parameter author: The commit's author; this author's applied commits were verified before.
    /// - Returns: Nil if it is not a commit by this author, or the chain has the link.
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
            // The commit that announces a checkpoint decides about its author's right.
            guard isSigned(record, seal, kind) else { throw .notAuthentic }
            return
        }
        let claim = CommitClaim(
            author: seal.author, log: record.dot.log, sequence: record.dot.sequence,
            hash: CommitHash(record.hash(as: kind)), head: seal.members, writes: seal.writes)
        let signer: SigningPublicKey
        do throws(CommitRefusal) { signer = try chain.signer(of: claim) } catch {
            guard error != .unknownHead else { throw .unknownMembers(seal.members) }
            // Anybody with the keys could have named this author, who must not be blamed without a signature.
            guard isSigned(record, seal, kind) else { throw .notAuthentic }
            throw .right(error)
        }
        do { try record.check(seal, as: kind, by: signer) } catch { throw .notAuthentic }
    }

    /// Whether the author has signed, with a key that it has or had as a member.
    private func isSigned(_ record: SignedRecord, _ seal: RecordSeal, _ kind: SignedRecord.Kind) -> Bool {
        chain.signingKeys(of: seal.author).contains { key in
            (try? record.check(seal, as: kind, by: key)) != nil
        }
    }
}
