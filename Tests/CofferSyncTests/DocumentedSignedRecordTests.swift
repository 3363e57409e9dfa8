import CofferCrypto
import CofferFormat
import CofferTestSupport
import CofferTrust
import Testing

@testable import CofferSync

/// The signed records of docs/values.json.
struct DocumentedSignedRecordTests {
    private let log: [UInt8] = .init(0x30...0x3F)

    /// The key 00 01 … 1f of epoch 1 of the vault 10 11 … 1f.
    private func key() throws -> EpochKey {
        let bytes: [UInt8] = .init(0x00...0x1F)
        let vault = try #require(VaultID(bytes: .init(0x10...0x1F)))
        return EpochKey(
            vault: vault, epoch: .first,
            key: SymmetricKey<VaultRole>(SecretBytes(copying: bytes.span.bytes)))
    }

    @Test(arguments: [("commit", SignedRecord.Kind.commit), ("checkpoint", .checkpoint)])
    func signedRecords(section: String, kind: SignedRecord.Kind) throws {
        let values = try DocumentedValues()
        let epochKey = try key()
        let record = try SignedRecord(try values.bytes(section, "record"), as: kind)
        let dot = Dot(log: try #require(LogID(bytes: log)), sequence: 1)
        #expect(record.vault == epochKey.vault && record.epoch == .first && record.dot == dot)
        let seal = try record.openSeal(as: kind, under: epochKey)
        #expect(seal.author.bytes == [UInt8](0xA0...0xBF) && seal.writes)
        #expect(seal.members.sequence == 3 && seal.members.hash.bytes == [UInt8](0xC0...0xDF))
        let signature = try values.bytes(section, "signature")
        #expect(seal.signature == signature)
        let signer = SigningPublicKey(try values.bytes("commit", "signing key"))
        try record.check(seal, as: kind, by: signer)
        let padded = try record.openBody(as: kind, under: epochKey)
        let body = try values.bytes(section, "body")
        #expect(padded == CheckpointPiece.padded(groups: body))
        let hash = try values.bytes(section, "hash")
        #expect(record.hash(as: kind) == hash)
    }

    @Test func notices() throws {
        let values = try DocumentedValues()
        let dot = Dot(log: try #require(LogID(bytes: log)), sequence: 1)
        let hash = CheckpointHash(try values.bytes("checkpoint", "hash"))
        let packs = [
            try #require(PackID(bytes: .init(0x70...0x7F))), try #require(PackID(bytes: .init(0xF0...0xFF))),
        ]
        let documented: [(String, CommitNotice)] = [
            ("announces it", .checkpoint(sequence: 1, hash)), ("confirms it", .confirmation(dot, hash)),
            ("asks about packs", .retirement(packs)), ("retains some", .retention(dot, .some(packs))),
            ("retains all", .retention(dot, .all)),
        ]
        for (name, notice) in documented {
            let bytes = try values.bytes("checkpoint", "notice that \(name)")
            let body = CommitBody(
                previous: .zero, clock: 1, stateHash: .zero, heads: try LogBounds([]), introduction: nil,
                notices: [notice], facts: [])
            let padded = body.paddedBytes
            // After length, previous, clock, state, number of heads, introduction, and number of notices.
            let start = 4 + 32 + 8 + 32 + 2 + 1 + 1
            #expect(Array(padded[start..<start + bytes.count]) == bytes, "\(name)")
            #expect(try CommitBody(padded: padded) == body, "\(name)")
        }
    }

    /// The packs of a notice ascend, and are not too many.
    @Test func noticesThatAreNone() throws {
        let packs = (0..<4097).map { PackID(low: $0, high: 1) }
        for wrong in [packs, Array(packs.prefix(3).reversed()), [packs[0], packs[0]]] {
            for notice in [
                CommitNotice.retirement(wrong),
                .retention(Dot(log: LogID(low: 1, high: 1), sequence: 1), .some(wrong)),
            ] {
                let body = CommitBody(
                    previous: .zero, clock: 1, stateHash: .zero, heads: try LogBounds([]), introduction: nil,
                    notices: [notice], facts: [])
                #expect(throws: FormatError.self) { try CommitBody(padded: body.paddedBytes) }
            }
        }
    }

    @Test func pieceOfACheckpoint() throws {
        let values = try DocumentedValues()
        let piece = try values.bytes("checkpoint", "piece")
        let epochKey = try key()
        let dot = Dot(log: try #require(LogID(bytes: log)), sequence: 1)
        let header = CheckpointPiece.header(epochKey.vault, dot, .first, number: 0)
        #expect(piece.starts(with: header))
        let sealed = Array(piece[header.count...])
        let subkey = epochKey.subkey(CheckpointRole.self)
        let padded = try RecordCipher.open(
            sealed.span.bytes, key: subkey, associated: header.span.bytes)
        let groups = try values.bytes("checkpoint", "group")
        #expect(padded == CheckpointPiece.padded(groups: groups))
        let pieceHash = try values.bytes("checkpoint", "hash of the piece")
        #expect(Blake2b.hash(piece, for: .checkpointPiece) == pieceHash)
        let groupsHash = try values.bytes("checkpoint", "hash of the groups")
        #expect(Blake2b.hash(groups, for: .checkpointFacts) == groupsHash)
    }
}
