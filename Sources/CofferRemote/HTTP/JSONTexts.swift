/// The texts of a flat JSON object (RFC 8259), as services of clouds answer with.
///
/// Members that are no texts are left out; an object or an array as a member, or anything else around the object, is
/// an error.
struct JSONTexts {
    private(set) var members: [String: String] = [:]
    private var rest: ArraySlice<UInt8>

    private struct Malformed: Error {}

    /// Reads an object; nil if the bytes are none.
    init?(_ bytes: [UInt8]) {
        rest = bytes[...]
        do throws(Malformed) { try readObject() } catch { return nil }
    }

    subscript(name: String) -> String? { members[name] }

    private mutating func readObject() throws(Malformed) {
        try take("{")
        if next == UInt8(ascii: "}") { return try finish() }
        while true {
            let name = try text()
            try take(":")
            if next == UInt8(ascii: "\"") { members[name] = try text() } else { try skipWord() }
            if next != UInt8(ascii: ",") { return try finish() }
            rest.removeFirst()
        }
    }

    private mutating func finish() throws(Malformed) {
        try take("}")
        guard next == nil else { throw Malformed() }
    }

    /// The next byte that is no white space, which is dropped.
    private var next: UInt8? {
        mutating get {
            rest = rest.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
            return rest.first
        }
    }

    private mutating func take(_ character: Character) throws(Malformed) {
        guard let byte = next, byte == character.asciiValue else { throw Malformed() }
        rest.removeFirst()
    }

    /// A number, or true, false, null.
    private mutating func skipWord() throws(Malformed) {
        guard let byte = next, ![UInt8(ascii: "{"), UInt8(ascii: "[")].contains(byte) else {
            throw Malformed()
        }
        let word = rest.prefix {
            Character(UnicodeScalar($0)).isLetter || Character(UnicodeScalar($0)).isNumber
                || "+-.".utf8.contains($0)
        }
        guard !word.isEmpty else { throw Malformed() }
        rest = rest.dropFirst(word.count)
    }

    private mutating func text() throws(Malformed) -> String {
        try take("\"")
        var units: [UInt16] = []
        var bytes: [UInt8] = []
        var result = ""
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw Malformed() }
            if byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "u") {
                rest.removeFirst()
                guard let unit = UInt16(String(decoding: rest.prefix(4), as: UTF8.self), radix: 16),
                    rest.count > 4
                else { throw Malformed() }
                rest = rest.dropFirst(4)
                result += String(decoding: bytes, as: UTF8.self)
                bytes = []
                units.append(unit)
                continue
            }
            result += String(decoding: units, as: UTF16.self)
            units = []
            bytes.append(byte == UInt8(ascii: "\\") ? try escaped() : byte)
        }
        guard next != nil else { throw Malformed() }
        return result + String(decoding: units, as: UTF16.self) + String(decoding: bytes, as: UTF8.self)
    }

    private mutating func escaped() throws(Malformed) -> UInt8 {
        switch rest.popFirst() {
        case UInt8(ascii: "n"): return 0x0A
        case UInt8(ascii: "t"): return 0x09
        case UInt8(ascii: "r"): return 0x0D
        case UInt8(ascii: "b"): return 0x08
        case UInt8(ascii: "f"): return 0x0C
        case let byte? where "\"\\/".utf8.contains(byte): return byte
        default: throw Malformed()
        }
    }
}
