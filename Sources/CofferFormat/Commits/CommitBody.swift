internal import CofferSystem

/// Distinguishes hashes of checkpoints from other values.
package enum CheckpointHashKind {}

/// The hash of a checkpoint's record, as stored.
package typealias CheckpointHash = Bytes32<CheckpointHashKind>

/// The names of a log's author and device, from which the names of conflict copies are made.
package struct LogIntroduction: Equatable, Sendable {
    /// The name of the author: 1 to 255 bytes.
    package let name: String
    /// The name of the device: 1 to 255 bytes.
    package let label: String

    /// Checks both names.
    ///
    /// - Throws: `.invalid` if one of them is not a permitted name.
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

/// The statements of a commit; the body of a `SignedRecord`.
///
///     bytes  field
///        32  hash of the log's previous commit; zeros in the first
///         8  hybrid logical clock
///        32  hash of the tree that the author shows, having applied the heads and its own earlier commits
///         …  heads: the last commit of every other log that the author had applied (`LogBounds`)
///         1  1 in a log's first commit, and the introduction follows: name, label (texts); otherwise 0
///         1  number of notices, then these
///         4  bytes of the facts; 0 if there are none
///         …  the facts (`FactRecord`)
package struct CommitBody: Equatable, Sendable {
    /// The largest number of notices of a commit.
    package static let noticeCountMax = 16

    /// The hash of the log's previous commit; zeros in the first.
    package let previous: CommitHash
    /// The hybrid logical clock.
    package let clock: UInt64
    /// The hash of the tree that the author shows, having applied `heads` and its own earlier commits.
    package let stateHash: StateHash
    /// The last commit of every other log that the author had applied.
    package let heads: LogBounds
    /// Present in a log's first commit, and only there.
    package let introduction: LogIntroduction?
    /// Statements about the storage.
    package let notices: [CommitNotice]
    /// The facts that hold from now on.
    package let facts: [Fact]

    package init(
        previous: CommitHash, clock: UInt64, stateHash: StateHash, heads: LogBounds,
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

    /// The plaintext of the body, padded.
    package var paddedBytes: [UInt8] {
        var writer = ByteWriter(capacity: 256)
        writer.bytes32(previous)
        writer.number(clock)
        writer.append(stateHash.bytes)
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

    /// Reads the plaintext of a body, which must have the one permitted form.
    ///
    /// - Throws: any `FormatError`.
    package init(padded: [UInt8]) throws(FormatError) {
        let content = try Padding.content(of: padded)
        let span = unsafe content.span.bytes
        var cursor = ByteCursor()
        previous = try cursor.bytes32(CommitHash.self, from: span)
        clock = try cursor.number(UInt64.self, from: span)
        stateHash = try cursor.stateHash(from: span)
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
