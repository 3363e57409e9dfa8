internal import CofferSystem

/// The values of some registers of one item or entry, as an index stores them.
///
/// These are facts with the stamps of their commits. The record is a sequence of parts, by ascending stamp;
/// without values, it has no bytes:
///
///     bytes  field
///         8  clock of the stamp
///        16  log
///         8  sequence in the log
///         4  bytes of the facts
///         …  the facts of this stamp as the body of a commit (`FactRecord`), which replace nothing
package enum RegisterRecord {
    /// The values that one commit put into registers: at least one, and at most one for each register.
    package struct Part: Equatable, Sendable {
        /// The commit.
        package var stamp: Stamp
        /// The values.
        package var assertions: [Fact.Assertion]

        package init(stamp: Stamp, assertions: [Fact.Assertion]) {
            self.stamp = stamp
            self.assertions = assertions
        }
    }

    /// Encodes parts, which must be in the order of their stamps.
    package static func bytes(_ parts: [Part]) -> [UInt8] {
        var writer = ByteWriter(capacity: 160 * parts.count)
        for part in parts {
            let body = FactRecord.bytes(part.assertions.map { Fact($0) })
            writer.stamp(part.stamp)
            writer.number(UInt32(body.count))
            writer.append(body)
        }
        return writer.finish()
    }

    /// Reads parts.
    ///
    /// - Throws: any `FormatError`.
    package static func parts(_ record: RawSpan) throws(FormatError) -> [Part] {
        var cursor = ByteCursor()
        var parts: [Part] = []
        while cursor.offset < record.byteCount {
            let stamp = try cursor.stamp(from: record)
            if let last = parts.last, last.stamp >= stamp { throw .invalid(field: "order of stamps") }
            let count = try cursor.number(UInt32.self, from: record)
            let body = record.extracting(try cursor.range(Int(count), of: record))
            let facts = try FactRecord.facts(body)
            guard !facts.isEmpty, facts.allSatisfy(\.replaces.isEmpty) else { throw .invalid(field: "facts") }
            parts.append(Part(stamp: stamp, assertions: facts.map(\.assertion)))
        }
        return parts
    }
}

extension Stamp {
    /// The size of a stamp in a record, in bytes.
    package static var byteCount: Int { 32 }

    /// Clock, log and sequence.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount)
        writer.stamp(self)
        return writer.finish()
    }

    /// Reads a stamp that `bytes` encoded.
    ///
    /// - Throws: `.truncated`, `.trailingBytes`.
    package init(bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        self = try cursor.stamp(from: bytes)
        try cursor.expectEnd(of: bytes)
    }
}

extension Dot {
    /// Log and sequence: 24 bytes.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 24)
        writer.identifier(log)
        writer.number(sequence)
        return writer.finish()
    }

    /// Reads a dot that `bytes` encoded.
    ///
    /// - Throws: `.truncated`, `.trailingBytes`.
    package init(bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        let log = try cursor.identifier(LogID.self, from: bytes)
        self.init(log: log, sequence: try cursor.number(UInt64.self, from: bytes))
        try cursor.expectEnd(of: bytes)
    }
}

extension ByteWriter {
    fileprivate mutating func stamp(_ stamp: Stamp) {
        number(stamp.clock)
        identifier(stamp.dot.log)
        number(stamp.dot.sequence)
    }
}

extension ByteCursor {
    fileprivate mutating func stamp(from bytes: RawSpan) throws(FormatError) -> Stamp {
        let clock = try number(UInt64.self, from: bytes)
        let log = try identifier(LogID.self, from: bytes)
        return Stamp(clock: clock, dot: Dot(log: log, sequence: try number(UInt64.self, from: bytes)))
    }
}
