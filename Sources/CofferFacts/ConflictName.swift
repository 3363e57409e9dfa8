package import CofferFormat

/// The name that the loser of a conflict gets: `report (conflict, Bob's laptop, 2026-11-20).txt`.
///
/// If it is taken, a number follows: `report (conflict, Bob's laptop, 2026-11-20) 2.txt`. Two wanted names that
/// differ never lead to the same name, whatever the numbers: the label has no parentheses, the extension is
/// shorter than what follows the label, and there is always room for a number. So those who want the same name
/// are numbered without a look at others.
package enum ConflictName {
    /// Bytes that are kept free for a number.
    private static let numberByteCount = 11
    /// The most bytes of an extension, its dot included; a dot of the label is never as near to the end.
    private static let extensionByteCountMax = 13
    /// The most bytes of a label.
    private static let labelByteCountMax = 64
    static let marker = Array(" (conflict, ".utf8)

    /// The name that is wanted, without a number.
    ///
    /// - Parameters:
    ///   - name: What it cannot have.
    ///   - label: What its author calls the device; nil if nobody said.
    ///   - milliseconds: When it was made, since 1970.
    package static func wanted(for name: EntryName, label: String?, milliseconds: UInt64) -> EntryName {
        make(name, "\(sanitized(label)), \(CivilDate(milliseconds: milliseconds))")
    }

    /// The name that is wanted for what was written on this device beside what came from elsewhere:
    /// `report (conflict, 2026-11-20).txt`.
    ///
    /// - Parameters:
    ///   - name: What it cannot have.
    ///   - milliseconds: When it was written, since 1970; fewer than 2^48.
    package static func wanted(for name: EntryName, milliseconds: UInt64) -> EntryName {
        make(name, CivilDate(milliseconds: milliseconds).description)
    }

    /// A label takes the place of one that the name has already: one generation tells enough.
    private static func make(_ labelled: EntryName, _ reason: String) -> EntryName {
        var name = labelled
        while let parts = parts(of: name) { name = parts.original }
        let ending = ending(name.bytes)
        let middle = marker + Array("\(reason))".utf8)
        let room = EntryName.byteCountMax - numberByteCount - middle.count - ending.count
        let body = cut(name.bytes.dropLast(ending.count), to: room)
        // Neither too long nor with a byte that no name has, so never nil.
        return EntryName(body + middle + ending) ?? name
    }

    /// A wanted name with a number; the first has none.
    package static func numbered(_ wanted: EntryName, _ number: Int) -> EntryName {
        guard number > 1 else { return wanted }
        let ending = ending(wanted.bytes)
        return EntryName(wanted.bytes.dropLast(ending.count) + Array(" \(number)".utf8) + ending) ?? wanted
    }

    /// The wanted name of which a name may be one with a number, or which it may be.
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

    /// What stands behind the last dot, with the dot; empty for names that only begin with one.
    static func ending(_ name: [UInt8]) -> ArraySlice<UInt8> {
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0,
            name.count - dot <= extensionByteCountMax
        else { return [] }
        return name[dot...]
    }

    /// At most `count` bytes, not ending within a character if this is UTF-8.
    private static func cut(_ bytes: ArraySlice<UInt8>, to count: Int) -> [UInt8] {
        guard bytes.count > count else { return Array(bytes) }
        var end = bytes.startIndex + count
        let earliest = max(bytes.startIndex, end - 3)
        while end > earliest, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        // More than three such bytes are no UTF-8, and are cut anywhere.
        if bytes[end] & 0xC0 == 0x80 { end = bytes.startIndex + count }
        return Array(bytes[..<end])
    }

    /// A label that can stand in a name, on one line, in one direction of writing.
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
        // By scalars: with what stands in front of it a blank can be one character, by tables that change.
        while result.unicodeScalars.last == " " { result.unicodeScalars.removeLast() }
        return result.isEmpty ? "unnamed device" : result
    }
}
