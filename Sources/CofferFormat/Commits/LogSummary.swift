internal import CofferSystem

/// The number and hash of a commit, and the head of the member chain that its author knew: 81 bytes.
///
///     offset  bytes  field
///          0      8  sequence
///          8     32  hash
///         40      8  sequence of the head of the member chain that it names
///         48     32  hash of that link
///         80      1  1 if the commit changes anything, 0 if it only acknowledges
package struct CommitPoint: Hashable, Sendable {
    /// The number of the commit.
    package let sequence: UInt64
    /// Its hash.
    package let hash: CommitHash
    /// The head of the member chain that it names.
    package let members: LinkHead
    /// Whether it changes anything.
    package let writes: Bool

    package init(sequence: UInt64, hash: CommitHash, members: LinkHead, writes: Bool) {
        self.sequence = sequence
        self.hash = hash
        self.members = members
        self.writes = writes
    }

    init(_ cursor: inout ByteCursor, from bytes: RawSpan) throws(FormatError) {
        sequence = try cursor.number(UInt64.self, from: bytes)
        hash = try cursor.bytes32(CommitHash.self, from: bytes)
        members = try LinkHead(&cursor, from: bytes)
        let flag = try cursor.number(UInt8.self, from: bytes)
        guard 1...Dot.sequenceMax ~= sequence, flag <= 1 else { throw .invalid(field: "commit") }
        writes = flag == 1
    }

    func write(into writer: inout ByteWriter) {
        writer.number(sequence)
        writer.bytes32(hash)
        members.write(into: &writer)
        writer.number(UInt8(writes ? 1 : 0))
    }
}

/// What is needed to continue a log after its last applied commit.
///
///     bytes  field
///        16  log id
///        32  identity of the author
///         …  introduction: name, label (texts)
///         8  hybrid logical clock of the last commit
///        81  the last commit (`CommitPoint`)
///         1  1 if the last commit that changed anything follows, 0 if there is none
///        81  that commit
package struct LogSummary: Equatable, Sendable {
    /// The log.
    package let log: LogID
    /// The identity of the author.
    package let author: IdentityID
    /// The names of the author and the device.
    package let introduction: LogIntroduction
    /// The hybrid logical clock of the last commit.
    package var clock: UInt64
    /// The last commit.
    package var head: CommitPoint
    /// The last commit that changed anything.
    package var lastWrite: CommitPoint?

    package init(
        log: LogID, author: IdentityID, introduction: LogIntroduction, clock: UInt64, head: CommitPoint,
        lastWrite: CommitPoint?
    ) {
        self.log = log
        self.author = author
        self.introduction = introduction
        self.clock = clock
        self.head = head
        self.lastWrite = lastWrite
    }

    init(_ cursor: inout ByteCursor, from bytes: RawSpan) throws(FormatError) {
        log = try cursor.identifier(LogID.self, from: bytes)
        author = try cursor.bytes32(IdentityID.self, from: bytes)
        introduction = try LogIntroduction(&cursor, from: bytes)
        clock = try cursor.number(UInt64.self, from: bytes)
        head = try CommitPoint(&cursor, from: bytes)
        switch try cursor.number(UInt8.self, from: bytes) {
        case 0: lastWrite = nil
        case 1: lastWrite = try CommitPoint(&cursor, from: bytes)
        default: throw .invalid(field: "last change")
        }
    }

    func write(into writer: inout ByteWriter) {
        writer.identifier(log)
        writer.bytes32(author)
        introduction.write(into: &writer)
        writer.number(clock)
        head.write(into: &writer)
        writer.number(UInt8(lastWrite == nil ? 0 : 1))
        lastWrite?.write(into: &writer)
    }

    /// Reads a summary that stands alone.
    ///
    /// - Throws: any `FormatError`.
    package init(_ bytes: [UInt8]) throws(FormatError) {
        let span = unsafe bytes.span.bytes
        var cursor = ByteCursor()
        try self.init(&cursor, from: span)
        try cursor.expectEnd(of: span)
    }

    /// The encoded summary.
    package var bytes: [UInt8] {
        var writer = ByteWriter()
        write(into: &writer)
        return writer.finish()
    }
}
