/// The body of a commit: its facts (docs/format.md, "Facts").
///
///     offset  bytes  field
///          0      1  format version, 1
///          1      2  number of logs, then 16 bytes of each, ascending; each is named by a dot below
///          …      4  number of facts
///          …      …  the facts
///
/// A fact is:
///
///     bytes  field
///         1  attribute: 1 kind, 2 mode, 3 modified, 4 extended attribute, 5 content, 6 place
///         1  flags: 1 the item is that of the fact before, 2 it replaces values, 4 it has a value,
///            8 content: it has an origin; place: it has a previous place
///        16  of a place only: entry
///        16  item, unless flag 1
///         …  with flag 2: the dots that it replaces
///         …  the value, with flag 4; without it a content or extended attribute goes, an entry is removed
///
/// Dots are a number of them (2), and for each the log's place in the list above (2) and the sequence (8);
/// ascending, none twice.
package enum FactRecord {
    /// The format version that is written, and the only one that is read.
    package static let version: UInt8 = 1
    /// The most bytes of a body.
    package static let byteCountMax = 16 << 20

    /// What a fact is about, as it is stored.
    enum Attribute: UInt8 {
        case kind = 1
        case mode = 2
        case modified = 3
        case extendedAttribute = 4
        case content = 5
        case place = 6
    }

    enum Flag {
        static let sameItem: UInt8 = 1
        static let replaces: UInt8 = 2
        static let value: UInt8 = 4
        static let more: UInt8 = 8
    }

    /// Writes facts as a body.
    ///
    /// - Parameter facts: At most one for each register; names, targets and values within their limits.
    package static func bytes(_ facts: [Fact]) -> [UInt8] {
        var writer = FactWriter(logs: logs(facts))
        writer.append(facts)
        return writer.finish()
    }

    /// Reads a body, of which nothing may be other than the one way to write it.
    ///
    /// - Throws: any `FormatError`.
    package static func facts(_ body: RawSpan) throws(FormatError) -> [Fact] {
        var reader = try FactReader(body)
        return try reader.facts(body)
    }

    /// The logs that dots name, ascending.
    private static func logs(_ facts: [Fact]) -> [LogID] {
        var logs: Set<LogID> = []
        for fact in facts {
            for dot in fact.replaces { logs.insert(dot.log) }
            guard case .place(_, let placement) = fact.assertion else { continue }
            for dot in placement.seenContents { logs.insert(dot.log) }
        }
        return logs.sorted()
    }
}
