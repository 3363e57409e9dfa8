internal import CofferSystem

/// Tells hashes of what is shown from others.
package enum StateHashKind {}
/// Tells hashes of checkpoints from others.
package enum CheckpointHashKind {}

/// The hash of the tree that a device shows, as a commit carries it.
package typealias StateHashBytes = Bytes32<StateHashKind>
/// The hash of a checkpoint's record, as stored.
package typealias CheckpointHash = Bytes32<CheckpointHashKind>

/// Who writes a log, by which name, on which device: what conflict names are made of.
package struct LogIntroduction: Equatable, Sendable {
    /// What the author is called: 1 to 255 bytes.
    package let name: String
    /// What the device is called: 1 to 255 bytes.
    package let label: String

    /// - Throws: `.invalid` for what cannot be a name.
    package init(name: String, label: String) throws(FormatError) {
        guard TrustLimits.isName(name), TrustLimits.isName(label) else {
            throw .invalid(field: "introduction")
        }
        self.name = name
        self.label = label
    }

    init(_ cursor: inout ByteCursor, from bytes: RawSpan) throws(FormatError) {
        let name = try cursor.text("introduction", from: bytes)
        try self.init(name: name, label: try cursor.text("introduction", from: bytes))
    }

    func write(into writer: inout ByteWriter) {
        writer.text(name)
        writer.text(label)
    }
}

/// Something that a commit says about the storage rather than about items.
///
///     code  fields
///        1  a checkpoint of the commit's own log: sequence (8), hash (32)
///        2  a checkpoint of another log is right: log id (16), sequence (8), hash (32)
package enum CommitNotice: Hashable, Sendable {
    /// There is a checkpoint. What it covers goes, once it counts and every active log has applied this commit.
    case checkpoint(sequence: UInt64, CheckpointHash)
    /// The author has the same facts as a checkpoint of another log.
    case confirmation(Dot, CheckpointHash)

    init(_ cursor: inout ByteCursor, from bytes: RawSpan) throws(FormatError) {
        let code = try cursor.number(UInt8.self, from: bytes)
        switch code {
        case 1:
            let sequence = try cursor.number(UInt64.self, from: bytes)
            self = .checkpoint(sequence: sequence, try cursor.bytes32(CheckpointHash.self, from: bytes))
        case 2:
            let log = try cursor.identifier(LogID.self, from: bytes)
            let dot = Dot(log: log, sequence: try cursor.number(UInt64.self, from: bytes))
            self = .confirmation(dot, try cursor.bytes32(CheckpointHash.self, from: bytes))
        default: throw .unknown(field: "notice", found: UInt32(code))
        }
    }

    func write(into writer: inout ByteWriter) {
        switch self {
        case .checkpoint(let sequence, let hash):
            writer.number(UInt8(1))
            writer.number(sequence)
            writer.bytes32(hash)
        case .confirmation(let dot, let hash):
            writer.number(UInt8(2))
            writer.identifier(dot.log)
            writer.number(dot.sequence)
            writer.bytes32(hash)
        }
    }
}

/// What a commit says; the body of a `SignedRecord`.
///
///     bytes  field
///        32  hash of the log's previous commit; zeros in the first
///         8  hybrid logical clock
///        32  hash of what the author shows, having applied the commits below and its own in front of this one
///         …  heads: the last commit of every other log that the author had applied (`LogBounds`)
///         1  1 in a log's first commit, and the introduction follows: name, label (texts); else 0
///         1  number of notices, then these
///         4  bytes of the facts; 0 if there are none
///         …  the facts (`FactRecord`)
package struct CommitBody: Equatable, Sendable {
    /// The most notices of a commit.
    package static let noticeCountMax = 16

    /// The hash of the log's previous commit; zeros in the first.
    package let previous: CommitHash
    /// Hybrid logical clock.
    package let clock: UInt64
    /// What the author shows, having applied `heads` and its own earlier commits.
    package let stateHash: StateHashBytes
    /// The last commit of every other log that the author had applied.
    package let heads: LogBounds
    /// Of a log's first commit, and only of that.
    package let introduction: LogIntroduction?
    /// What is said about the storage.
    package let notices: [CommitNotice]
    /// What is so from now on.
    package let facts: [Fact]

    package init(
        previous: CommitHash, clock: UInt64, stateHash: StateHashBytes, heads: LogBounds,
        introduction: LogIntroduction?, notices: [CommitNotice], facts: [Fact]
    ) {
        self.previous = previous
        self.clock = clock
        self.stateHash = stateHash
        self.heads = heads
        self.introduction = introduction
        self.notices = notices
        self.facts = facts
    }

    /// Whether the commit changes anything, or only acknowledges.
    package var writes: Bool { !facts.isEmpty || !notices.isEmpty }

    /// The bytes that are sealed: padded.
    package var paddedBytes: [UInt8] {
        var writer = ByteWriter(capacity: 256)
        writer.bytes32(previous)
        writer.number(clock)
        writer.bytes32(stateHash)
        heads.write(into: &writer)
        writer.number(UInt8(introduction == nil ? 0 : 1))
        introduction?.write(into: &writer)
        writer.number(UInt8(notices.count))
        for notice in notices { notice.write(into: &writer) }
        let facts = facts.isEmpty ? [] : FactRecord.bytes(facts)
        writer.number(UInt32(facts.count))
        writer.append(facts)
        return Padding.padded(writer.finish())
    }

    /// Reads what was sealed; there is one way to write each body.
    ///
    /// - Throws: any `FormatError`.
    package init(padded: [UInt8]) throws(FormatError) {
        let content = try Padding.content(of: padded)
        let span = unsafe content.span.bytes
        var cursor = ByteCursor()
        previous = try cursor.bytes32(CommitHash.self, from: span)
        clock = try cursor.number(UInt64.self, from: span)
        stateHash = try cursor.bytes32(StateHashBytes.self, from: span)
        heads = try LogBounds(&cursor, from: span)
        switch try cursor.number(UInt8.self, from: span) {
        case 0: introduction = nil
        case 1: introduction = try LogIntroduction(&cursor, from: span)
        default: throw .invalid(field: "introduction")
        }
        let count = try cursor.number(UInt8.self, from: span)
        guard count <= Self.noticeCountMax else { throw .invalid(field: "number of notices") }
        var notices: [CommitNotice] = []
        for _ in 0..<count { notices.append(try CommitNotice(&cursor, from: span)) }
        self.notices = notices
        let facts = try cursor.range(Int(try cursor.number(UInt32.self, from: span)), of: span)
        try cursor.expectEnd(of: span)
        self.facts = facts.isEmpty ? [] : try FactRecord.facts(span.extracting(facts))
        guard facts.isEmpty || !self.facts.isEmpty else { throw .invalid(field: "number of facts") }
        guard heads.bounds.allSatisfy({ 1...Dot.sequenceMax ~= $0.sequence }) else {
            throw .invalid(field: "sequence")
        }
    }
}
