package import CofferFormat

/// The name that the loser of a conflict gets: `report (conflict, Bob's laptop, 2026-11-20).txt`.
///
/// If it is taken, a number follows: `report (conflict, Bob's laptop, 2026-11-20) 2.txt`. Two different
/// wanted names never lead to the same name, whatever the numbers: the label has no parentheses, the
/// extension is shorter than the text after the label, and there is always room for a number. So the losers
/// that want the same name can be numbered without regard to others.
package enum ConflictName {
    /// The number of bytes left for a number.
    private static let numberByteCount = 11
    /// The longest extension in bytes, including its dot; a dot in the label is always farther from the end.
    private static let extensionByteCountMax = 13
    /// The longest label, in bytes.
    private static let labelByteCountMax = 64
    static let marker = Array(" (conflict, ".utf8)

    /// The wanted name, without a number.
    ///
    /// - Parameters:
    ///   - name: The name that the loser cannot have.
    ///   - label: The author's label for the device; nil if there is none.
    ///   - milliseconds: When the loser was made, since 1970.
    package static func wanted(for name: EntryName, label: String?, milliseconds: UInt64) -> EntryName {
        make(name, "\(sanitized(label)), \(CivilDate(milliseconds: milliseconds))")
    }

    /// The wanted name for content written on this device beside incoming changes.
    ///
    /// It has the form `report (conflict, 2026-11-20).txt`.
    ///
    /// - Parameters:
    ///   - name: The name that the content cannot have.
    ///   - milliseconds: When it was written, since 1970; less than 2^48.
    package static func wanted(for name: EntryName, milliseconds: UInt64) -> EntryName {
        make(name, CivilDate(milliseconds: milliseconds).description)
    }

    /// Removes the labels that the name already has, since one generation is enough.
    private static func make(_ labelled: EntryName, _ reason: String) -> EntryName {
        var name = labelled
        while let parts = parts(of: name) { name = parts.original }
        let ending = ending(name.bytes)
        let middle = marker + Array("\(reason))".utf8)
        let room = EntryName.byteCountMax - numberByteCount - middle.count - ending.count
        let body = cut(name.bytes.dropLast(ending.count), to: room)
        // The result is never too long, and has no invalid byte, so this is never nil.
        return EntryName(body + middle + ending) ?? name
    }

    /// A wanted name with a number; 1 is not written.
    package static func numbered(_ wanted: EntryName, _ number: Int) -> EntryName {
        guard number > 1 else { return wanted }
        let ending = ending(wanted.bytes)
        return EntryName(wanted.bytes.dropLast(ending.count) + Array(" \(number)".utf8) + ending) ?? wanted
    }

    /// The wanted name that may have led to a name, with or without a number.
    static func wanted(from name: EntryName) -> EntryName? {
        let bytes = name.bytes
        guard contains(bytes, marker) else { return nil }
        let ending = ending(bytes)
        return EntryName(withoutNumber(bytes.dropLast(ending.count)) + ending)
    }

    private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        bytes.indices.dropLast(part.count - 1).contains { bytes[$0...].starts(with: part) }
    }

    static func withoutNumber(_ body: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let digits = body.reversed().prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
        let rest = body.dropLast(digits)
        return digits > 0 && rest.suffix(2).elementsEqual(") ".utf8) ? rest.dropLast() : body
    }

    /// The part from the last dot on; empty if that dot is the first byte.
    static func ending(_ name: [UInt8]) -> ArraySlice<UInt8> {
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0,
            name.count - dot <= extensionByteCountMax
        else { return [] }
        return name[dot...]
    }

    /// At most `count` bytes; does not end within a character if the text is UTF-8.
    private static func cut(_ bytes: ArraySlice<UInt8>, to count: Int) -> [UInt8] {
        guard bytes.count > count else { return Array(bytes) }
        var end = bytes.startIndex + count
        let earliest = max(bytes.startIndex, end - 3)
        while end > earliest, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        // More than three continuation bytes are not UTF-8, and may be cut anywhere.
        if bytes[end] & 0xC0 == 0x80 { end = bytes.startIndex + count }
        return Array(bytes[..<end])
    }

    /// A label that is safe in a name: on one line, and in one writing direction.
    private static func sanitized(_ label: String?) -> String {
        var result = ""
        for scalar in (label ?? "").unicodeScalars {
            var replacement = String(scalar)
            switch scalar {
            case "/", "\\": replacement = "-"
            case "(": replacement = "["
            case ")": replacement = "]"
            default:
                switch scalar.value {
                case 0..<0x20, 0x7F..<0xA0, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF:
                    continue
                default: break
                }
            }
            guard result.utf8.count + replacement.utf8.count <= labelByteCountMax else { break }
            result += replacement
        }
        // Compares scalars, not characters: a blank may combine with the text before it, by tables that
        // change with Unicode's versions.
        while result.unicodeScalars.last == " " { result.unicodeScalars.removeLast() }
        return result.isEmpty ? "unnamed device" : result
    }
}
