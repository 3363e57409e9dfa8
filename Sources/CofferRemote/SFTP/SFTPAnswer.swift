/// What a server answers, decoded from bytes that it can choose freely.
package enum SFTPAnswer: Equatable, Sendable {
    /// How a request ended.
    case status(SFTPStatus)
    /// An open file or directory.
    case handle([UInt8])
    /// A part of a file.
    case data([UInt8])
    /// A part of a directory.
    case names([SFTPEntry])
    /// What a file or directory is.
    case attributes(SFTPAttributes)
    /// What an extension answers.
    case extended([UInt8])

    /// Why bytes are no answer.
    package struct Malformed: Error {}

    /// The longest handle, in bytes (draft-ietf-secsh-filexfer-02, section 6.2).
    static let handleByteCountMax = 256

    /// Decodes a packet: its type, and what follows its number.
    package init(_ type: UInt8, _ body: ArraySlice<UInt8>) throws(Malformed) {
        var reader = SFTPReader(body)
        switch type {
        case 101: self = .status(try SFTPStatus(&reader))
        case 102:
            let handle = try reader.string()
            guard handle.count <= Self.handleByteCountMax else { throw Malformed() }
            self = .handle(Array(handle))
        case 103: self = .data(Array(try reader.string()))
        case 104: self = .names(try Self.names(&reader))
        case 105: self = .attributes(try SFTPAttributes(&reader))
        case 201:
            self = .extended(Array(body))
            return
        default: throw Malformed()
        }
        guard reader.isAtEnd else { throw Malformed() }
    }

    private static func names(_ reader: inout SFTPReader) throws(Malformed) -> [SFTPEntry] {
        let count = try reader.number()
        var entries: [SFTPEntry] = []
        for _ in 0..<count {
            let name = try reader.string()
            // What "ls -l" would show, which nobody needs.
            _ = try reader.string()
            let attributes = try SFTPAttributes(&reader)
            // No name of an object is anything but ASCII, so none is repaired into one.
            entries.append(SFTPEntry(name: String(decoding: name, as: UTF8.self), attributes: attributes))
        }
        return entries
    }

    /// Decodes the names of the extensions in a server's first packet, after its type.
    ///
    /// - Throws: If it is no such packet, or of a version before 3.
    package static func extensions(_ body: ArraySlice<UInt8>) throws(Malformed) -> Set<String> {
        var reader = SFTPReader(body)
        guard try reader.number() >= 3 else { throw Malformed() }
        var names: Set<String> = []
        while !reader.isAtEnd {
            let name = try reader.string()
            _ = try reader.string()
            if let text = String(validating: name, as: UTF8.self) { names.insert(text) }
        }
        return names
    }
}

/// The code and the text of a status.
package struct SFTPStatus: Equatable, Sendable {
    let code: UInt32
    /// What the server says, made fit for a terminal.
    let text: String

    init(_ reader: inout SFTPReader) throws(SFTPAnswer.Malformed) {
        code = try reader.number()
        // Some servers leave out the rest.
        text = reader.isAtEnd ? "" : PrintableText.of(try reader.string())
        if !reader.isAtEnd { _ = try reader.string() }
    }

    static let ok: UInt32 = 0, end: UInt32 = 1, absent: UInt32 = 2, forbidden: UInt32 = 3
    static let failure: UInt32 = 4, malformed: UInt32 = 5, noConnection: UInt32 = 6
    static let connectionLost: UInt32 = 7, unsupported: UInt32 = 8
}

/// What a server says of a file or a directory.
package struct SFTPAttributes: Equatable, Sendable {
    private(set) var byteCount: Int?
    private(set) var user: UInt32?
    private(set) var group: UInt32?
    /// The mode of stat(2).
    private(set) var mode: UInt32?
    /// Seconds since 1970.
    private(set) var modified: Int64?

    enum Kind {
        case file, directory, other
    }

    /// Nil if the server does not say.
    var kind: Kind? {
        switch mode.map({ $0 & 0o170_000 }) {
        case nil, 0: nil
        case 0o100_000: .file
        case 0o040_000: .directory
        default: .other
        }
    }

    init(_ reader: inout SFTPReader) throws(SFTPAnswer.Malformed) {
        let flags = try reader.number()
        if flags & 0x1 != 0 {
            guard let count = Int(exactly: try reader.longNumber()) else { throw SFTPAnswer.Malformed() }
            byteCount = count
        }
        if flags & 0x2 != 0 {
            user = try reader.number()
            group = try reader.number()
        }
        if flags & 0x4 != 0 { mode = try reader.number() }
        if flags & 0x8 != 0 {
            _ = try reader.number()
            modified = Int64(try reader.number())
        }
        if flags & 0x8000_0000 != 0 {
            for _ in 0..<(try reader.number()) {
                _ = try reader.string()
                _ = try reader.string()
            }
        }
    }
}

/// A name in a directory.
package struct SFTPEntry: Equatable, Sendable {
    let name: String
    let attributes: SFTPAttributes
}

/// Reads numbers and strings, and never beyond the end.
struct SFTPReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func number() throws(SFTPAnswer.Malformed) -> UInt32 {
        guard rest.count >= 4 else { throw SFTPAnswer.Malformed() }
        defer { rest = rest.dropFirst(4) }
        return rest.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    mutating func longNumber() throws(SFTPAnswer.Malformed) -> UInt64 {
        let high = try number()
        return UInt64(high) << 32 | UInt64(try number())
    }

    mutating func string() throws(SFTPAnswer.Malformed) -> ArraySlice<UInt8> {
        let count = Int(try number())
        guard count <= rest.count else { throw SFTPAnswer.Malformed() }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
