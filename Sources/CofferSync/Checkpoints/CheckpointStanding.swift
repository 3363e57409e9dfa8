internal import CofferFormat

/// A checkpoint that counts, and the logs that have applied the commit announcing it.
///
/// Stored on this device only: checkpoint (24), hash (32), announcing commit (8), link (8), flags (1: the
/// commits that it covers were deleted; 2: later facts were applied), covered commits (number of logs, 2;
/// then each with its sequence, 24), logs that have acknowledged it (number, 2; then each, 16).
struct CheckpointStanding: Equatable, Sendable {
    /// Log and sequence of the checkpoint.
    let dot: Dot
    let hash: CheckpointHash
    /// The sequence of the commit in the same log that announces it.
    let announcement: UInt64
    /// The number of the last link of the member chain that its author knew.
    let members: UInt64
    /// The commits that it covers.
    let covered: VersionVector
    /// The logs with a commit whose author had applied the announcement.
    var acknowledged: Set<LogID> = []
    /// Whether this device has deleted the commits that it covers.
    var isCleared = false
    /// Whether later facts were applied; without any, another checkpoint would say the same.
    var hasChanges = false

    init(
        dot: Dot, hash: CheckpointHash, announcement: UInt64, covered: VersionVector, members: UInt64
    ) {
        self.dot = dot
        self.hash = hash
        self.announcement = announcement
        self.covered = covered
        self.members = members
    }

    /// Records that a log's author has applied the announcement, for at most as many logs as a vault has.
    mutating func acknowledge(_ log: LogID) {
        if acknowledged.count < TrustLimits.logCountMax { acknowledged.insert(log) }
    }

    /// Whether a commit may be gone because of it.
    func covers(_ dot: Dot) -> Bool { covered.contains(dot) }

    /// Whether it covers everything that another one does.
    func covers(_ other: CheckpointStanding) -> Bool { covered.firstMissing(of: other.covered) == nil }

    init(_ bytes: [UInt8]) throws(FormatError) {
        let span = unsafe bytes.span.bytes
        var cursor = ByteCursor()
        try self.init(&cursor, span)
        try cursor.expectEnd(of: span)
    }

    fileprivate init(_ cursor: inout ByteCursor, _ span: RawSpan) throws(FormatError) {
        let log = try cursor.identifier(LogID.self, from: span)
        dot = Dot(log: log, sequence: try cursor.number(UInt64.self, from: span))
        hash = try cursor.bytes32(CheckpointHash.self, from: span)
        announcement = try cursor.number(UInt64.self, from: span)
        members = try cursor.number(UInt64.self, from: span)
        let flags = try cursor.number(UInt8.self, from: span)
        (isCleared, hasChanges) = (flags & 1 != 0, flags & 2 != 0)
        var covered = VersionVector()
        for _ in 0..<(try cursor.number(UInt16.self, from: span)) {
            let log = try cursor.identifier(LogID.self, from: span)
            covered[log] = try cursor.number(UInt64.self, from: span)
        }
        self.covered = covered
        for _ in 0..<(try cursor.number(UInt16.self, from: span)) {
            acknowledged.insert(try cursor.identifier(LogID.self, from: span))
        }
    }

    var bytes: [UInt8] {
        var writer = ByteWriter()
        write(into: &writer)
        return writer.finish()
    }

    fileprivate func write(into writer: inout ByteWriter) {
        writer.identifier(dot.log)
        writer.number(dot.sequence)
        writer.bytes32(hash)
        writer.number(announcement)
        writer.number(members)
        writer.number(UInt8((isCleared ? 1 : 0) | (hasChanges ? 2 : 0)))
        let covered = covered.sequences.sorted { $0.key < $1.key }
        writer.number(UInt16(covered.count))
        for (log, sequence) in covered {
            writer.identifier(log)
            writer.number(sequence)
        }
        writer.number(UInt16(acknowledged.count))
        for log in acknowledged.sorted() { writer.identifier(log) }
    }
}

/// A checkpoint whose author is not an admin, and that no other author has confirmed yet.
///
/// Stored on this device only: author (32), then the checkpoint (`CheckpointStanding`).
struct UnconfirmedCheckpoint: Equatable, Sendable {
    var standing: CheckpointStanding
    let author: IdentityID

    init(standing: CheckpointStanding, author: IdentityID) {
        self.standing = standing
        self.author = author
    }

    init(_ bytes: [UInt8]) throws(FormatError) {
        let span = unsafe bytes.span.bytes
        var cursor = ByteCursor()
        author = try cursor.bytes32(IdentityID.self, from: span)
        standing = try CheckpointStanding(&cursor, span)
        try cursor.expectEnd(of: span)
    }

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.bytes32(author)
        standing.write(into: &writer)
        return writer.finish()
    }

    /// The key under which it is stored.
    var key: KeptRow.Key {
        KeptRow.Key(.checkpoint, id: standing.dot.log.bytes, number: standing.dot.sequence)
    }
}
