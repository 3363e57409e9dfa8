internal import CofferSystem

/// What pax records say of an entry, and the block of tar cannot.
struct PaxRecords: Equatable, Sendable {
    var path: [UInt8]?
    var target: [UInt8]?
    var size: Int64?
    /// In nanoseconds since 1970.
    var modified: Int64?
    var attributes: [ArchiveEntry.Attribute] = []
    /// The size of a file with holes, whose content begins with the list of its ranges.
    var sparseSize: Int64?

    private static let attributePrefix = Array("SCHILY.xattr.".utf8)

    // MARK: Writing

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        func put(_ key: String, _ value: some Sequence<UInt8>) {
            bytes += Self.record(Array(key.utf8), Array(value))
        }
        // Names are bytes; pax takes them for UTF-8 unless this says otherwise.
        if [path, target].contains(where: { $0.map { String(validating: $0, as: UTF8.self) == nil } ?? false }
        ) {
            put("hdrcharset", "BINARY".utf8)
        }
        if let sparseSize {
            put("GNU.sparse.major", "1".utf8)
            put("GNU.sparse.minor", "0".utf8)
            put("GNU.sparse.name", path ?? [])
            put("GNU.sparse.realsize", "\(sparseSize)".utf8)
        } else if let path {
            put("path", path)
        }
        if let target { put("linkpath", target) }
        if let size { put("size", "\(size)".utf8) }
        if let modified { put("mtime", Self.text(ofTime: modified).utf8) }
        for attribute in attributes {
            bytes += Self.record(
                Self.attributePrefix + Self.escaped(attribute.name), attribute.value)
        }
        return bytes
    }

    /// A record: its length in decimal digits, a space, the key, “=”, the value, and a newline.
    private static func record(_ key: [UInt8], _ value: [UInt8]) -> [UInt8] {
        let rest = key.count + value.count + 3
        var length = rest + 1
        while "\(length)".utf8.count + rest != length { length = "\(length)".utf8.count + rest }
        return Array("\(length) ".utf8) + key + [0x3D] + value + [0x0A]
    }

    static func text(ofTime time: Int64) -> String {
        let (second, rest) = time.magnitude.quotientAndRemainder(dividingBy: 1_000_000_000)
        let fraction = "\(rest)"
        let zeros = String(repeating: "0", count: 9 - fraction.utf8.count)
        return "\(time < 0 ? "-" : "")\(second).\(zeros)\(fraction)"
    }

    /// A key ends with its first “=”, so GNU tar writes “%3D” for one in a name, and “%25” for “%”.
    private static func escaped(_ name: [UInt8]) -> [UInt8] {
        name.flatMap { byte in
            switch byte {
            case 0x25: Array("%25".utf8)
            case 0x3D: Array("%3D".utf8)
            default: [byte]
            }
        }
    }

    // MARK: Reading

    init() {}

    /// Reads all records of an entry.
    init(_ bytes: [UInt8]) throws(FormatError) {
        var keys: Set<[UInt8]> = []
        var sparse = Sparse()
        var rest = bytes[...]
        while !rest.isEmpty {
            let (key, value) = try Self.next(&rest)
            guard keys.insert(key).inserted else { throw .duplicate(field: Self.name(of: key)) }
            try take(key, value, &sparse)
        }
        try finish(sparse)
    }

    private struct Sparse {
        var major: [UInt8]?
        var minor: [UInt8]?
        var name: [UInt8]?
        var size: Int64?
    }

    private mutating func take(
        _ key: [UInt8], _ value: [UInt8], _ sparse: inout Sparse
    ) throws(FormatError) {
        if key.starts(with: Self.attributePrefix) {
            let name = try Self.unescaped(Array(key.dropFirst(Self.attributePrefix.count)))
            guard (1...ArchiveLimits.attributeNameByteCountMax).contains(name.count), !name.contains(0) else {
                throw .invalid(field: "name of an extended attribute")
            }
            return attributes.append(ArchiveEntry.Attribute(name: name, value: value))
        }
        switch String(decoding: key, as: UTF8.self) {
        case "path": path = value
        case "linkpath": target = value
        case "size": size = try Self.number(value, "size")
        case "mtime": modified = try Self.time(value)
        case "hdrcharset":
            guard value.elementsEqual("BINARY".utf8) else { throw .invalid(field: "hdrcharset") }
        case "GNU.sparse.major": sparse.major = value
        case "GNU.sparse.minor": sparse.minor = value
        case "GNU.sparse.name": sparse.name = value
        case "GNU.sparse.realsize": sparse.size = try Self.number(value, "GNU.sparse.realsize")
        default: throw .unknown(field: Self.name(of: key), found: 0)
        }
    }

    private mutating func finish(_ sparse: Sparse) throws(FormatError) {
        if sparse.major == nil, sparse.minor == nil, sparse.name == nil, sparse.size == nil { return }
        guard sparse.major == [0x31], sparse.minor == [0x30], let name = sparse.name, let size = sparse.size,
            path == nil
        else { throw .invalid(field: "GNU.sparse") }
        path = name
        sparseSize = size
    }

    /// The key, for messages.
    private static func name(of key: [UInt8]) -> String { String(decoding: key.prefix(100), as: UTF8.self) }

    private static func next(
        _ rest: inout ArraySlice<UInt8>
    ) throws(FormatError) -> (key: [UInt8], value: [UInt8]) {
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        guard (1...9).contains(digits.count), digits.first != 0x30 else { throw .invalid(field: "record") }
        let length = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        // A space, a key, “=”, and a newline.
        guard length >= digits.count + 4, length <= rest.count else { throw .invalid(field: "record") }
        let record = rest.prefix(length)
        rest = rest.dropFirst(length)
        guard record[digits.endIndex] == 0x20, record.last == 0x0A else { throw .invalid(field: "record") }
        let content = record[(digits.endIndex + 1)..<(record.endIndex - 1)]
        guard let end = content.firstIndex(of: 0x3D), end > content.startIndex else {
            throw .invalid(field: "record")
        }
        return (Array(content[..<end]), Array(content[(end + 1)...]))
    }

    /// Decimal digits, without needless zeros.
    static func number(_ text: some Collection<UInt8>, _ field: String) throws(FormatError) -> Int64 {
        guard (1...19).contains(text.count), text.allSatisfy({ (0x30...0x39).contains($0) }),
            text.count == 1 || text.first != 0x30,
            let number = Int64(String(decoding: text, as: UTF8.self)),
            number <= ArchiveLimits.fileByteCountMax
        else { throw .invalid(field: field) }
        return number
    }

    private static func time(_ text: [UInt8]) throws(FormatError) -> Int64 {
        let isNegative = text.first == 0x2D
        let parts = text.dropFirst(isNegative ? 1 : 0).split(
            separator: 0x2E, omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count),
            parts.allSatisfy({ (1...10).contains($0.count) && $0.allSatisfy { (0x30...0x39).contains($0) } }),
            parts.count == 1 || parts[1].count <= 9
        else { throw .invalid(field: "mtime") }
        let seconds = try number(parts[0], "mtime")
        var fraction: Int64 = 0
        if parts.count == 2 {
            let digits = Array(parts[1]) + [UInt8](repeating: 0x30, count: 9 - parts[1].count)
            fraction = digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        }
        let (scaled, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        // The earliest time has no positive counterpart.
        let (sum, overflowsToo) =
            isNegative
            ? (-scaled).subtractingReportingOverflow(fraction) : scaled.addingReportingOverflow(fraction)
        if overflows || overflowsToo { throw .invalid(field: "mtime") }
        return sum
    }

    private static func unescaped(_ name: [UInt8]) throws(FormatError) -> [UInt8] {
        var result: [UInt8] = []
        var rest = name[...]
        while let byte = rest.popFirst() {
            guard byte == 0x25 else {
                result.append(byte)
                continue
            }
            switch String(decoding: rest.prefix(2), as: UTF8.self) {
            case "25": result.append(0x25)
            case "3D": result.append(0x3D)
            default: throw .invalid(field: "name of an extended attribute")
            }
            rest = rest.dropFirst(2)
        }
        return result
    }
}
