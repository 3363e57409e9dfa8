/// The facts of a commit, the last part of its body (docs/format.md, "Facts").
///
///     offset  bytes  field
///          0      1  format version, 1
///          1      2  number of logs, then 16 bytes of each, ascending; at least one dot below refers to each
///          …      4  number of facts
///          …      …  the facts
///
/// A fact is:
///
///     bytes  field
///         1  attribute: 1 kind, 2 mode, 3 modified, 4 extended attribute, 5 content, 6 place,
///            7 moved content
///         1  flags: 1 the item is that of the preceding fact, 2 it replaces values, 4 it has a value,
///            8 content: it has an origin; place: it has a previous place
///        16  entry, for a place only
///        16  item, unless flag 1
///         …  the dots that it replaces, with flag 2
///         …  the value, with flag 4; without it, an extended attribute or an entry is removed, and a
///            content puts no value in
///
/// Dots are their number (2), then for each the index of its log in the list above (2) and the sequence (8);
/// ascending, none twice.
package enum FactRecord {
    /// The format version that is written, and the only one that is read.
    package static let version: UInt8 = 1
    /// The largest size of the facts of a commit, in bytes.
    package static let byteCountMax = 16 << 20

    /// The attribute of a fact, as stored.
    enum Attribute: UInt8 {
        case kind = 1
        case mode = 2
        case modified = 3
        case extendedAttribute = 4
        case content = 5
        case place = 6
        case moved = 7
    }

    enum Flag {
        static let sameItem: UInt8 = 1
        static let replaces: UInt8 = 2
        static let value: UInt8 = 4
        static let more: UInt8 = 8
    }

    /// Encodes facts.
    ///
    /// - Parameter facts: At most one for each register; names, targets, and values within their limits.
    package static func bytes(_ facts: [Fact]) -> [UInt8] {
        var writer = FactWriter(logs: logs(facts))
        writer.append(facts)
        return writer.finish()
    }

    /// Reads facts, which must have the one permitted form.
    ///
    /// - Throws: any `FormatError`.
    package static func facts(_ body: RawSpan) throws(FormatError) -> [Fact] {
        var reader = try FactReader(body)
        return try reader.facts(body)
    }

    /// The logs that dots refer to, ascending.
    private static func logs(_ facts: [Fact]) -> [LogID] {
        var logs: Set<LogID> = []
        for fact in facts {
            for dot in fact.replaces { logs.insert(dot.log) }
            switch fact.assertion {
            case .place(_, let placement): for dot in placement.seenContents { logs.insert(dot.log) }
            case .moved(_, let dot, _): logs.insert(dot.log)
            default: break
            }
        }
        return logs.sorted()
    }
}
