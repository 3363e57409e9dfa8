/// What a link of a member chain does.
///
///     operation  fields
///             1  CreateVault: identity (32), its head (40), commitment (32), wrap set hash (32)
///             2  AddMember: identity (32), its head (40), role (1), invite id (16; zeros for none),
///                wrap set hash (32)
///             3  ChangeRole: identity (32), role (1), bounds
///             4  RemoveMember: identity (32), epoch start (140), bounds
///             5  RotateKey: epoch start (140)
///             6  MemberKeysRolled: identity (32), its head (40), bounds
///             7  RestoreFromBackup: bounds
///             8  Leave: a byte 1 and the successor (33), or a zero byte (1); bounds
///
/// A head is a sequence (8) and a link hash (32). Bounds are `LogBounds`.
package enum MemberOperation: Equatable, Sendable {
    /// The vault becomes shared; its creator is its first owner, and its key becomes that of epoch 1.
    case createVault(creator: IdentityID, head: LinkHead, commitment: EpochCommitment, wraps: WrapSetHash)
    /// An identity becomes a member; the wrap set has one wrap, of the current epoch's key.
    case addMember(IdentityID, head: LinkHead, role: Role, invite: InviteID?, wraps: WrapSetHash)
    /// A member gets another role; there are bounds only if the member loses the right to write.
    case changeRole(IdentityID, role: Role, bounds: LogBounds)
    /// A member is removed, and the next epoch begins.
    case removeMember(IdentityID, start: EpochStart, bounds: LogBounds)
    /// The next epoch begins.
    case rotateKey(start: EpochStart)
    /// The identity chain of a member has grown: other keys count now, or no keys.
    case memberKeysRolled(IdentityID, head: LinkHead, bounds: LogBounds)
    /// The storage was restored to older commits; the bounds name the last commit that it has of each log.
    case restoreFromBackup(bounds: LogBounds)
    /// The signer leaves; a last owner names a successor.
    case leave(successor: IdentityID?, bounds: LogBounds)
    /// All devices keep the past of the vault for this time, in seconds; 0 for none, −1 for ever.
    case keepHistory(seconds: Int64)

    /// The times for which the past can be kept, in seconds, with the two special values: up to 316 years.
    package static let historySeconds: ClosedRange<Int64> = -1...10_000_000_000

    /// How an epoch begins: 140 bytes.
    ///
    ///     offset  bytes  field
    ///          0      4  epoch, at least 2
    ///          4     32  commitment to its key
    ///         36     72  the key of the epoch before, sealed under this one's
    ///        108     32  hash of the wrap set for all members after this link
    package struct EpochStart: Hashable, Sendable {
        /// The size of the sealed key, in bytes.
        package static let sealedKeyByteCount = 72

        /// The epoch that begins.
        package let epoch: Epoch
        /// Distinguishes its key from any other.
        package let commitment: EpochCommitment
        /// The key of the epoch before, a sealed record: 72 bytes.
        package let sealedPrevious: [UInt8]
        /// The hash of the set with one wrap for each member.
        package let wraps: WrapSetHash

        package init(
            epoch: Epoch, commitment: EpochCommitment, sealedPrevious: [UInt8], wraps: WrapSetHash
        ) {
            self.epoch = epoch
            self.commitment = commitment
            self.sealedPrevious = sealedPrevious
            self.wraps = wraps
        }

        init(_ cursor: inout ByteCursor, from bytes: RawSpan) throws(FormatError) {
            epoch = Epoch(try cursor.number(UInt32.self, from: bytes))
            guard epoch > .first else { throw .invalid(field: "epoch") }
            commitment = try cursor.bytes32(EpochCommitment.self, from: bytes)
            sealedPrevious = try cursor.bytes(Self.sealedKeyByteCount, from: bytes)
            wraps = try cursor.bytes32(WrapSetHash.self, from: bytes)
        }

        func write(into writer: inout ByteWriter) {
            writer.number(epoch.number)
            writer.bytes32(commitment)
            writer.append(sealedPrevious)
            writer.bytes32(wraps)
        }
    }
}
