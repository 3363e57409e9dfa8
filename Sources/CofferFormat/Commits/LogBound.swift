/// The last accepted commit of a log: 56 bytes.
///
///     offset  bytes  field
///          0     16  log id
///         16      8  sequence of the commit
///         24     32  hash of the commit
package struct LogBound: Hashable, Sendable {
    /// The log.
    package let log: LogID
    /// The number of the last commit of the log that counts.
    package let sequence: UInt64
    /// The hash of that commit.
    package let hash: CommitHash

    package init(log: LogID, sequence: UInt64, hash: CommitHash) {
        self.log = log
        self.sequence = sequence
        self.hash = hash
    }
}

/// Bounds of several logs: a 16-bit number of them, then each, in ascending order of the log ids' bytes.
package struct LogBounds: Hashable, Sendable {
    /// In order, each log once.
    package let bounds: [LogBound]

    /// No bounds.
    package static let none = LogBounds(sorted: [])

    private init(sorted bounds: [LogBound]) {
        self.bounds = bounds
    }

    /// Makes bounds; sorts them.
    ///
    /// - Throws: `.invalid` if there are too many, or two of one log.
    package init(_ bounds: [LogBound]) throws(FormatError) {
        let sorted = bounds.sorted { $0.log.bytes.lexicographicallyPrecedes($1.log.bytes) }
        try self.init(checking: sorted)
    }

    private init(checking bounds: [LogBound]) throws(FormatError) {
        guard bounds.count <= TrustLimits.logCountMax else { throw .invalid(field: "number of logs") }
        for (left, right) in zip(bounds, bounds.dropFirst())
        where !left.log.bytes.lexicographicallyPrecedes(right.log.bytes) {
            throw .invalid(field: "order of logs")
        }
        self.bounds = bounds
    }

    /// The bound of one log, if there is one.
    package subscript(log: LogID) -> LogBound? {
        bounds.first { $0.log == log }
    }

    init(_ cursor: inout ByteCursor, from bytes: RawSpan) throws(FormatError) {
        let count = try cursor.number(UInt16.self, from: bytes)
        guard Int(count) <= TrustLimits.logCountMax else { throw .invalid(field: "number of logs") }
        var bounds: [LogBound] = []
        for _ in 0..<count {
            bounds.append(
                LogBound(
                    log: try cursor.identifier(LogID.self, from: bytes),
                    sequence: try cursor.number(UInt64.self, from: bytes),
                    hash: try cursor.bytes32(CommitHash.self, from: bytes)))
        }
        try self.init(checking: bounds)
    }

    func write(into writer: inout ByteWriter) {
        writer.number(UInt16(bounds.count))
        for bound in bounds {
            writer.identifier(bound.log)
            writer.number(bound.sequence)
            writer.bytes32(bound.hash)
        }
    }
}
