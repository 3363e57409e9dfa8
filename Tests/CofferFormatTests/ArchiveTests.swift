import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferFormat

/// The archive in an export: what is written is read, and nothing else is.
@Suite struct ArchiveTests {
    private static let root = ArchiveEntry(path: [], kind: .directory, permissions: 0o755, modified: 1)

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
    private static func path(_ text: String) -> [[UInt8]] {
        text.split(separator: "/").map { bytes(String($0)) }
    }

    /// An entry of any path, with all else plain.
    private static func entry(_ path: [[UInt8]], _ kind: ArchiveEntry.Kind) -> ArchiveEntry {
        ArchiveEntry(path: path, kind: kind, permissions: 0o644, modified: 5)
    }

    // MARK: Round trips

    private static let entries: [ArchiveEntry] = [
        root,
        ArchiveEntry(path: path("d"), kind: .directory, permissions: 0o2750, modified: -1),
        // Every byte that a name can have, and 255 of them.
        entry([Array((1...255).filter { $0 != 0x2F })], .directory),
        entry([[UInt8](repeating: 0xFF, count: 255)], .fifo),
        entry(path("d/ -rf"), .file(size: 0, data: [])),
        entry(path("d/a"), .file(size: 513, data: [0..<513])),
        entry(path("d/b"), .link(to: path("d/a"))),
        entry([bytes("s\n=")], .symbolicLink(bytes("../\u{1}\n%=") + [0xFF])),
        entry(path("c"), .characterDevice(ArchiveDevice(major: 0xFFF, minor: 0xF_FFFF))),
        entry(path("e"), .blockDevice(ArchiveDevice(major: 8, minor: 1))),
        entry(path("h0"), .file(size: 10_000, data: [])),
        entry(path("h1"), .file(size: 1 << 62, data: [5..<517, 4096..<8192, (1 << 62) - 3..<1 << 62])),
        entry(path("h2"), .file(size: 9000, data: [0..<512, 1024..<4096])),
        ArchiveEntry(
            path: path("x"), kind: .directory, permissions: 0o7777, modified: .max,
            attributes: [
                .init(name: bytes("user.a=b%25=%"), value: bytes("v\n\0") + [0xFF]),
                .init(name: bytes("user.\n"), value: []),
                .init(name: bytes("user.big"), value: [UInt8](repeating: 7, count: 65_536)),
            ]),
        ArchiveEntry(
            path: path("t"), kind: .fifo, permissions: 0, modified: -1_500_000_000_000_000_001),
        // The earliest time that a vault has, and the longest name.
        ArchiveEntry(
            path: path("u"), kind: .fifo, permissions: 0, modified: .min,
            attributes: [.init(name: bytes("user." + String(repeating: "n", count: 250)), value: [1])]),
    ]

    @Test func everyKindOfEntry() throws {
        var bytes: [UInt8] = []
        var content: [UInt8] = []
        for entry in Self.entries {
            bytes += try ArchiveWriter.header(of: entry)
            guard case .file(_, let data) = entry.kind else { continue }
            let count = data.reduce(0) { $0 + $1.count }
            let piece = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 1) }
            content += piece
            bytes += piece + [UInt8](repeating: 0, count: ArchiveLimits.padding(after: Int64(count)))
        }
        bytes += ArchiveWriter.end
        let read = try Self.read(bytes)
        #expect(read.entries == Self.entries)
        #expect(read.content == content)
        // In every place, one byte less is an archive that ends too early.
        for count in stride(from: 0, to: bytes.count, by: 509) {
            #expect(throws: FormatError.truncated) { try Self.read(Array(bytes[..<count])) }
        }
        #expect(throws: FormatError.trailingBytes) { try Self.read(bytes + [0]) }
    }

    @Test func contentComesInPieces() throws {
        let size = Int64(3 * ArchiveLimits.pieceByteCount + 17)
        var reader = ArchiveReader()
        var bytes = try ArchiveWriter.header(of: Self.root)
        bytes += try ArchiveWriter.header(
            of: Self.entry(Self.path("f"), .file(size: size, data: [100..<612, 1000..<size])))
        var ranges: [Range<Int64>] = []
        while true {
            let needed = reader.needed
            if bytes.count < needed { bytes += [UInt8](repeating: 1, count: needed) }
            let event = try reader.take(Array(bytes.prefix(needed)).span.bytes)
            bytes.removeFirst(needed)
            guard case .data(let range) = event else { continue }
            #expect(range.count == needed)
            ranges.append(range)
            if range.upperBound == size { break }
        }
        let piece = Int64(ArchiveLimits.pieceByteCount)
        #expect(
            ranges == [
                100..<612, 1000..<piece, piece..<2 * piece, 2 * piece..<3 * piece, 3 * piece..<size,
            ])
    }

    @Test func whatDoesNotFit() {
        let long = [[UInt8]](repeating: [UInt8](repeating: 0x61, count: 255), count: 4100)
        #expect(throws: FormatError.invalid(field: "path")) {
            try ArchiveWriter.header(of: Self.entry(long, .fifo))
        }
        var big = Self.root
        big.attributes = (0..<300).map {
            .init(name: Self.bytes("user.\($0)"), value: [UInt8](repeating: 0, count: 65_536))
        }
        #expect(throws: FormatError.invalid(field: "extended attributes")) {
            try ArchiveWriter.header(of: big)
        }
    }

    // MARK: Hostile archives

    /// One entry after the root, which is made by hand.
    struct Case: CustomTestStringConvertible, Sendable {
        let name: String
        let error: FormatError
        let bytes: [UInt8]
        var testDescription: String { name }
    }

    private static func block(
        _ name: String = "./f", _ kind: ArchiveBlock.Kind = .file, size: Int64 = 0, target: String = "",
        fixesSum: Bool = true, edit: (inout [UInt8]) -> Void = { _ in }
    ) -> [UInt8] {
        var block = ArchiveBlock(
            name: bytes(name), permissions: 0o644, size: size, modified: 0, kind: kind, target: bytes(target)
        ).bytes
        edit(&block)
        guard fixesSum else { return block }
        for place in 148..<156 { block[place] = 0x20 }
        let sum = block.reduce(0) { $0 + Int($1) }
        let text = String(sum, radix: 8)
        let digits = bytes(String(repeating: "0", count: 6 - text.count) + text)
        for place in 0..<6 { block[148 + place] = digits[place] }
        block[154] = 0
        return block
    }

    private static func records(_ texts: [UInt8]) -> [UInt8] {
        block("PaxHeaders/entry", .records, size: Int64(texts.count)) + texts
            + [UInt8](repeating: 0, count: ArchiveLimits.padding(after: Int64(texts.count)))
    }

    private static func record(_ key: String, _ value: [UInt8]) -> [UInt8] {
        let rest = key.utf8.count + value.count + 3
        let length = (1...8).map { $0 + rest }.first { "\($0)".utf8.count + rest == $0 } ?? 0
        return bytes("\(length) \(key)=") + value + [0x0A]
    }

    private static func pathCase(_ path: String, _ kind: ArchiveBlock.Kind = .file) -> Case {
        Case(
            name: "path \(path.prefix(30))", error: .invalid(field: "path"),
            bytes: records(record("path", bytes(path))) + block("./x", kind))
    }

    private static func recordCase(_ name: String, _ field: String, _ texts: [UInt8], size: Int64 = 0) -> Case
    {
        Case(name: name, error: .invalid(field: field), bytes: records(texts) + block(size: size))
    }

    private static func map(_ text: String, real: String = "100", size: Int64 = 512) -> Case {
        let texts =
            record("GNU.sparse.major", [0x31]) + record("GNU.sparse.minor", [0x30])
            + record("GNU.sparse.name", bytes("./f")) + record("GNU.sparse.realsize", bytes(real))
        let list = bytes(text) + [UInt8](repeating: 0, count: max(0, 512 - text.utf8.count))
        return Case(
            name: "ranges \(text.prefix(30).debugDescription) of \(real)",
            error: .invalid(field: "list of ranges"), bytes: records(texts) + block(size: size) + list)
    }

    static let hostile: [Case] =
        [
            "../f", "./../f", "./a/../f", "./a/./f", "./a//f", ".//f", "/etc/passwd", "f", "./", "./f/", ".",
            "",
            "./" + String(repeating: "x", count: 256), "./a\0b",
        ].map { pathCase($0) }
        + ["./d", "./d//", "d/", "./../", "//"].map { pathCase($0, .directory) }
        + [
            Case(
                name: "a path of 2 MiB", error: .invalid(field: "path"),
                bytes: records(record("path", bytes("./" + String(repeating: "a/", count: 1 << 20) + "f")))
                    + block()),
            Case(
                name: "a link to outside", error: .invalid(field: "path"),
                bytes: block("./l", .link, target: "../../etc/passwd")),
            Case(
                name: "a link to nowhere", error: .invalid(field: "path"),
                bytes: block("./l", .link, target: "")),
            Case(
                name: "a symlink to nowhere", error: .invalid(field: "target of a symbolic link"),
                bytes: block("./l", .symbolicLink, target: "")),
            Case(
                name: "a long symlink", error: .invalid(field: "target of a symbolic link"),
                bytes: records(record("linkpath", [UInt8](repeating: 0x61, count: 4096)))
                    + block("./l", .symbolicLink, target: "x")),
            Case(
                name: "a zero byte in a symlink", error: .invalid(field: "target of a symbolic link"),
                bytes: records(record("linkpath", [0x61, 0, 0x62])) + block("./l", .symbolicLink, target: "x")
            ),
            Case(
                name: "a target of a file", error: .invalid(field: "linkpath"),
                bytes: records(record("linkpath", bytes("./x"))) + block()),
            Case(
                name: "content of a directory", error: .invalid(field: "size"),
                bytes: block("./d/", .directory, size: 512)),
            Case(
                name: "content of a link", error: .invalid(field: "size"),
                bytes: block("./l", .link, size: 512, target: "./f")),
            Case(
                name: "a second root", error: .invalid(field: "first entry"), bytes: block("./", .directory)),
            Case(
                name: "an unknown type", error: .unknown(field: "type", found: 0x37),
                bytes: block(edit: { $0[156] = 0x37 })),
            Case(
                name: "global records", error: .unknown(field: "type", found: 0x67),
                bytes: block(edit: { $0[156] = 0x67 })),
            Case(
                name: "a long name of GNU tar", error: .unknown(field: "type", found: 0x4C),
                bytes: block(edit: { $0[156] = 0x4C })),
            Case(
                name: "a wrong sum", error: .invalid(field: "sum"),
                bytes: block("./f", fixesSum: false, edit: { $0[0] ^= 1 })),
            Case(name: "another format", error: .notThisKind, bytes: block(edit: { $0[257] = 0x55 })),
            Case(
                name: "a size in binary", error: .invalid(field: "size"),
                bytes: block(edit: { $0[124] = 0x80 })),
            Case(
                name: "no size", error: .invalid(field: "size"),
                bytes: block(edit: { for place in 124..<136 { $0[place] = 0 } })),
            Case(
                name: "permissions beyond 07777", error: .invalid(field: "permissions"),
                bytes: block(edit: { $0[102] = 0x31 })),
            Case(
                name: "a device beyond Linux", error: .invalid(field: "device"),
                bytes: block("./n", .characterDevice, edit: { $0[330] = 0x37 })),
            Case(
                name: "records about records", error: .duplicate(field: "records"),
                bytes: records(record("path", bytes("./f"))) + records(record("path", bytes("./f")))),
            Case(
                name: "records without a size", error: .invalid(field: "size of the records"),
                bytes: block("x", .records, size: 0)),
            Case(
                name: "records of 32 MiB", error: .invalid(field: "size of the records"),
                bytes: block("x", .records, size: 32 << 20)),
            Case(
                name: "a record twice", error: .duplicate(field: "path"),
                bytes: records(record("path", bytes("./f")) + record("path", bytes("./g"))) + block()),
            Case(
                name: "an attribute twice", error: .duplicate(field: "SCHILY.xattr.user.a"),
                bytes: records(record("SCHILY.xattr.user.a", [1]) + record("SCHILY.xattr.user.a", [2]))
                    + block()),
            Case(
                name: "an unknown record", error: .unknown(field: "uname", found: 0),
                bytes: records(record("uname", bytes("root"))) + block()),
            recordCase("another charset", "hdrcharset", record("hdrcharset", bytes("UTF-8"))),
            recordCase(
                "an escape of its own", "name of an extended attribute",
                record("SCHILY.xattr.user.%41", [1])),
            recordCase(
                "half an escape", "name of an extended attribute", record("SCHILY.xattr.user.%2", [1])),
            recordCase(
                "no name of an attribute", "name of an extended attribute", record("SCHILY.xattr.", [1])),
            recordCase(
                "a name of 256 bytes", "name of an extended attribute",
                record("SCHILY.xattr.user." + String(repeating: "n", count: 251), [1])),
            recordCase(
                "a zero in a name", "name of an extended attribute", record("SCHILY.xattr.user.a\0b", [1])),
            recordCase("a length that is too short", "record", bytes("9 path=./f\n")),
            recordCase("a length that is too long", "record", bytes("99 path=./f\n")),
            recordCase("a length with a zero before it", "record", bytes("012 path=./f\n")),
            recordCase("a length of 20 digits", "record", bytes("99999999999999999999 path=./f\n")),
            recordCase("no length", "record", bytes(" path=./f\n")),
            recordCase("no key", "record", bytes("5 =a\n")),
            recordCase("no equals sign", "record", bytes("8 pathf\n")),
            recordCase("no newline", "record", bytes("12 path=./f ")),
            recordCase("zeros in the records", "record", [0, 0, 0, 0]),
            recordCase("another size than the block's", "size", record("size", bytes("5")), size: 4),
            recordCase("a size that the block could have", "size", record("size", bytes("5")), size: 0),
            recordCase("a size beyond files", "size", record("size", bytes("4611686018427387905"))),
            recordCase("a size of 20 digits", "size", record("size", bytes("18446744073709551616"))),
            recordCase("a negative size", "size", record("size", bytes("-1"))),
            recordCase("an empty size", "size", record("size", [])),
        ]
        + [
            "", "-", ".", "1.", ".5", "1.0000000000", "9223372037", "99999999999", "1e5", "+1", "1.2.3",
            "--1", "9223372036.854775808", "-9223372036.854775809",
        ].map {
            recordCase("the time “\($0)”", "mtime", record("mtime", bytes($0)))
        }
        + [
            recordCase("half a file with holes", "GNU.sparse", record("GNU.sparse.major", [0x31])),
            recordCase(
                "another version of holes", "GNU.sparse",
                record("GNU.sparse.major", [0x32]) + record("GNU.sparse.minor", [0x30])
                    + record("GNU.sparse.name", bytes("./f")) + record("GNU.sparse.realsize", bytes("1"))),
            recordCase(
                "two paths of a file with holes", "GNU.sparse",
                record("path", bytes("./f")) + record("GNU.sparse.major", [0x31])
                    + record("GNU.sparse.minor", [0x30]) + record("GNU.sparse.name", bytes("./f"))
                    + record("GNU.sparse.realsize", bytes("1"))),
            map("0\n"), map("1\n0\n50\n"), map("1\n101\n0\n"), map("1\n50\n51\n"), map("2\n50\n50\n0\n50\n"),
            map("2\n0\n0\n0\n100\n"), map("1\n-1\n101\n"), map("x\n"), map("1\n100\n0\nx"),
            map("1048578\n"), map("99999999999999999999\n"), map("1\n0\n9223372036854775807\n"),
            Case(
                name: "holes without their list", error: .invalid(field: "size"),
                bytes: map("1\n100\n0\n", size: 0).bytes),
            Case(
                name: "more content than the list has", error: .invalid(field: "size"),
                bytes: map("1\n100\n0\n", size: 513).bytes),
            Case(
                name: "something in the padding", error: .invalid(field: "padding"),
                bytes: block(size: 1) + [UInt8](repeating: 1, count: 512)),
            Case(
                name: "one block of zeros", error: .invalid(field: "end"),
                bytes: [UInt8](repeating: 0, count: 512) + block()),
        ]

    @Test(arguments: hostile) func hostileArchive(_ hostile: Case) throws {
        let bytes = try ArchiveWriter.header(of: Self.root) + hostile.bytes
        #expect(throws: hostile.error) { try Self.read(bytes + ArchiveWriter.end) }
    }

    @Test func withoutARoot() throws {
        for bytes in [
            ArchiveWriter.end, Self.block(), Self.block("./", .link, target: "./f"),
            Self.block("./d/", .directory),
        ] {
            #expect(throws: FormatError.self) { try Self.read(bytes + ArchiveWriter.end) }
        }
    }

    // MARK: Chance

    /// Whatever bits change, an archive is read or refused; nothing traps.
    @Test(arguments: 0..<4 as Range<UInt64>) func randomDamage(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var bytes: [UInt8] = []
        for entry in Self.entries {
            guard entry.attributes.count < 2 else { continue }
            if case .file(let size, _) = entry.kind, size > 1 << 20 { continue }
            bytes += try ArchiveWriter.header(of: entry)
            guard case .file(_, let data) = entry.kind else { continue }
            let count = data.reduce(0) { $0 + $1.count }
            bytes += [UInt8](repeating: 1, count: count)
            bytes += [UInt8](repeating: 0, count: ArchiveLimits.padding(after: Int64(count)))
        }
        bytes += ArchiveWriter.end
        var refused = 0
        for _ in 0..<5000 {
            var damaged = bytes
            for _ in 0...random.below(3) {
                let place = random.below(bytes.count)
                // The sum would refuse most changes of a block.
                damaged[place] = UInt8(truncatingIfNeeded: random.next())
                Self.mendSum(of: &damaged, around: place)
            }
            do { _ = try Self.read(damaged) } catch is FormatError { refused += 1 }
        }
        #expect(refused > 1000 && refused < 5000)
    }

    private static func mendSum(of bytes: inout [UInt8], around place: Int) {
        let start = place / 512 * 512
        guard bytes.count >= start + 512, bytes[(start + 257)..<(start + 262)].elementsEqual("ustar".utf8)
        else { return }
        var sum = 0
        for offset in 0..<512 { sum += (148..<156).contains(offset) ? 0x20 : Int(bytes[start + offset]) }
        let text = String(sum, radix: 8)
        let digits = Self.bytes(String(repeating: "0", count: 6 - text.count) + text) + [0, 0x20]
        for offset in 0..<8 { bytes[start + 148 + offset] = digits[offset] }
    }

    // MARK: Reading

    private static func read(_ bytes: [UInt8]) throws -> (entries: [ArchiveEntry], content: [UInt8]) {
        var reader = ArchiveReader()
        var (entries, content): ([ArchiveEntry], [UInt8]) = ([], [])
        var rest = bytes[...]
        while true {
            guard rest.count >= reader.needed else { throw FormatError.truncated }
            let piece = Array(rest.prefix(reader.needed))
            rest = rest.dropFirst(piece.count)
            switch try reader.take(piece.span.bytes) {
            case .nothing: continue
            case .entry(let entry): entries.append(entry)
            case .data: content += piece
            case .end:
                #expect(reader.needed == 0 && reader.offset == bytes.count - rest.count)
                if !rest.isEmpty { throw FormatError.trailingBytes }
                return (entries, content)
            }
        }
    }
}
