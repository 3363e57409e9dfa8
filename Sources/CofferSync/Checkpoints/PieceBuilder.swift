internal import CofferFacts
internal import CofferFormat

/// Cuts the facts of a vault into pieces, which depend on nothing but the facts.
struct PieceBuilder {
    /// The bytes of groups at which a piece is complete.
    static let pieceByteCount = 2 << 20
    /// The approximate bytes at which a group is complete.
    private static let groupByteCount = 256 << 10

    private var stamp: Stamp?
    private var facts: [Fact] = []
    private var factByteCount = 0
    private var groups: [UInt8] = []

    /// Adds the values of the next register.
    ///
    /// - Returns: The groups of a piece, if one is complete.
    mutating func add(_ values: RegisterValues) -> [UInt8]? {
        for value in values.values {
            if value.stamp != stamp || factByteCount >= Self.groupByteCount { endGroup() }
            stamp = value.stamp
            facts.append(Fact(value.assertion))
            factByteCount += Self.byteCount(value.assertion)
        }
        return groups.count >= Self.pieceByteCount ? endPiece() : nil
    }

    /// Returns the groups of the last piece.
    mutating func finish() -> [UInt8] {
        endGroup()
        return endPiece()
    }

    private mutating func endGroup() {
        if let stamp, !facts.isEmpty { groups += CheckpointPiece.Group(stamp: stamp, facts: facts).bytes }
        (stamp, facts, factByteCount) = (nil, [], 0)
    }

    private mutating func endPiece() -> [UInt8] {
        defer { groups = [] }
        return groups
    }

    private static func byteCount(_ assertion: Fact.Assertion) -> Int {
        switch assertion {
        case .extendedAttribute(_, let name, let value): name.count + (value?.count ?? 0) + 32
        case .content(_, let content): (content?.bytes.count ?? 0) + 48
        case .moved(_, _, let bytes): bytes.count + 48
        case .kind(_, .symlink(let target)): target.count + 32
        default: 128
        }
    }
}
