internal import CofferCrypto
internal import CofferFacts
internal import CofferFormat
internal import CofferTrust

extension CheckpointPiece {
    /// Seals groups as a piece.
    static func sealing(groups: [UInt8], _ dot: Dot, number: UInt32, under key: EpochKey) -> [UInt8] {
        let header = header(key.vault, dot, key.epoch, number: number)
        let padded = padded(groups: groups)
        let subkey = key.subkey(CheckpointRole.self)
        return header
            + (unsafe RecordCipher.seal(padded.span.bytes, key: subkey, associated: header.span.bytes))
    }
}

extension VerifiedCheckpoint {
    /// The groups of a piece; nil if it is not the one that the record names, or not valid.
    ///
    /// - Parameters:
    ///   - bytes: The piece as stored.
    ///   - root: The vault's root directory.
    func groups(ofPiece number: Int, _ bytes: [UInt8], root: ItemID) -> [CheckpointPiece.Group]? {
        let header = CheckpointPiece.header(key.vault, dot, key.epoch, number: UInt32(number))
        guard bytes.starts(with: header),
            Blake2b.hash(bytes, for: .checkpointPiece) == body.pieces[number].hash.bytes
        else { return nil }
        let sealed = Array(bytes[header.count...])
        let padded = try? unsafe RecordCipher.open(
            sealed.span.bytes, key: key.subkey(CheckpointRole.self), associated: header.span.bytes)
        guard let padded, let groups = try? CheckpointPiece.groups(padded: padded) else { return nil }
        // Each group belongs to a commit that the checkpoint covers, and its facts are valid. But a removal may have
        // seen contents that no longer count, and that no checkpoint covers.
        let areValid = groups.allSatisfy { group in
            let facts = FactCommit(
                stamp: group.stamp, versions: body.versions, facts: group.facts.map(\.withoutSeenContents))
            return body.versions.contains(group.stamp.dot) && facts.refusal(root: root) == nil
        }
        return areValid ? groups : nil
    }
}

extension Fact {
    /// The fact without the contents that its author had seen.
    fileprivate var withoutSeenContents: Fact {
        guard case .place(let entry, var placement) = assertion else { return self }
        placement.seenContents = []
        return Fact(.place(entry, placement), replaces: replaces)
    }
}
