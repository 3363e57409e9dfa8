internal import CofferSystem

/// The header block of tar, in the form that POSIX calls ustar.
///
///     offset  bytes  field                          offset  bytes  field
///          0    100  name                              257      6  “ustar” and a zero byte
///        100      8  permissions                       263      2  “00”
///        108      8  user                              265     64  names of user and group
///        116      8  group                             329      8  major number of a device
///        124     12  size of what follows              337      8  minor number of a device
///        136     12  modified, in seconds              345    155  beginning of the name
///        148      8  sum of all bytes                  500     12  zeros
///        156      1  type
///        157    100  target
struct ArchiveBlock: Equatable {
    /// The types that an export has.
    enum Kind: UInt8 {
        case file = 0x30
        case link = 0x31
        case symbolicLink = 0x32
        case characterDevice = 0x33
        case blockDevice = 0x34
        case directory = 0x35
        case fifo = 0x36
        /// The records of the next entry.
        case records = 0x78
    }

    var name: [UInt8]
    var permissions: UInt32
    var size: Int64
    /// In seconds since 1970.
    var modified: Int64
    var kind: Kind
    var target: [UInt8] = []
    var device = ArchiveDevice(major: 0, minor: 0)

    /// The largest size that a block can have.
    static let sizeMax: Int64 = 0o777_7777_7777
    static let nameByteCount = 100

    // MARK: Writing

    var bytes: [UInt8] {
        var block = [UInt8](repeating: 0, count: ArchiveLimits.blockByteCount)
        func put(_ bytes: some Sequence<UInt8>, at offset: Int) {
            for (place, byte) in bytes.enumerated() { block[offset + place] = byte }
        }
        func put(_ number: Int64, at offset: Int, digits: Int) {
            let text = String(number, radix: 8)
            put(String(repeating: "0", count: digits - text.count).utf8, at: offset)
            put(text.utf8, at: offset + digits - text.count)
        }
        put(name.prefix(Self.nameByteCount), at: 0)
        put(Int64(permissions), at: 100, digits: 7)
        put(0, at: 108, digits: 7)
        put(0, at: 116, digits: 7)
        put(size > Self.sizeMax ? 0 : size, at: 124, digits: 11)
        put(min(max(modified, 0), Self.sizeMax), at: 136, digits: 11)
        block[156] = kind.rawValue
        put(target.prefix(Self.nameByteCount), at: 157)
        put("ustar\0".utf8, at: 257)
        put("00".utf8, at: 263)
        put(Int64(device.major), at: 329, digits: 7)
        put(Int64(device.minor), at: 337, digits: 7)
        put(Self.sum(of: block), at: 148, digits: 6)
        block[155] = 0x20
        return block
    }

    /// The sum of all bytes, with spaces in the place of the sum.
    private static func sum(of block: [UInt8]) -> Int64 {
        var sum: Int64 = 0
        for (offset, byte) in block.enumerated() {
            sum += (148..<156).contains(offset) ? 0x20 : Int64(byte)
        }
        return sum
    }

    // MARK: Reading

    init(
        name: [UInt8], permissions: UInt32, size: Int64, modified: Int64, kind: Kind, target: [UInt8] = [],
        device: ArchiveDevice = ArchiveDevice(major: 0, minor: 0)
    ) {
        self.name = name
        self.permissions = permissions
        self.size = size
        self.modified = modified
        self.kind = kind
        self.target = target
        self.device = device
    }

    /// Reads a block of 512 bytes.
    init(_ block: [UInt8]) throws(FormatError) {
        guard block[257..<265].elementsEqual("ustar\u{0}00".utf8) else { throw .notThisKind }
        let sum = try Self.number(block[148..<156], "sum")
        guard sum == Self.sum(of: block) else { throw .invalid(field: "sum") }
        guard let kind = Kind(rawValue: block[156]) else {
            throw .unknown(field: "type", found: UInt32(block[156]))
        }
        self.kind = kind
        let beginning = Self.text(block[345..<500])
        name = (beginning.isEmpty ? [] : beginning + [0x2F]) + Self.text(block[0..<100])
        let mode = try Self.number(block[100..<108], "permissions")
        guard mode <= 0o7777 else { throw .invalid(field: "permissions") }
        permissions = UInt32(mode)
        size = try Self.number(block[124..<136], "size")
        modified = try Self.number(block[136..<148], "time")
        target = Self.text(block[157..<257])
        guard kind == .characterDevice || kind == .blockDevice else { return }
        let major = try Self.number(block[329..<337], "device")
        let minor = try Self.number(block[337..<345], "device")
        guard major <= ArchiveDevice.majorMax, minor <= ArchiveDevice.minorMax else {
            throw .invalid(field: "device")
        }
        device = ArchiveDevice(major: UInt32(major), minor: UInt32(minor))
    }

    private static func text(_ field: ArraySlice<UInt8>) -> [UInt8] { Array(field.prefix { $0 != 0 }) }

    /// Octal digits, and spaces or zero bytes after them.
    private static func number(_ field: ArraySlice<UInt8>, _ name: String) throws(FormatError) -> Int64 {
        let digits = field.prefix { (0x30...0x37).contains($0) }
        guard !digits.isEmpty, field[digits.endIndex...].allSatisfy({ $0 == 0 || $0 == 0x20 }) else {
            throw .invalid(field: name)
        }
        return digits.reduce(0) { $0 << 3 | Int64($1 - 0x30) }
    }
}
