/// The contents of the file that counts wrong passphrases: one line of four words (docs/format.md, "Files").
struct AttemptRecord: Equatable {
    /// The largest count; the wait reaches its maximum long before.
    private static let countMax = 1000

    var count: Int
    /// The boot that `time` belongs to; empty if unknown.
    var boot: String
    /// Nanoseconds since that boot.
    var time: Int64

    init(count: Int, boot: String, time: Int64) {
        self.count = count
        self.boot = boot
        self.time = time
    }

    /// Parses a file; nil if it is malformed.
    init?(_ bytes: [UInt8]) {
        let spaces = [UInt8(ascii: " "), UInt8(ascii: "\n")]
        let fields = bytes.split(whereSeparator: spaces.contains).map { String(decoding: $0, as: UTF8.self) }
        guard fields.count == 4, fields[0] == "1", let count = Int(fields[1]), count >= 0,
            let time = Int64(fields[3]), time >= 0
        else { return nil }
        self.init(count: min(count, Self.countMax), boot: fields[2], time: time)
    }

    /// The length of every file, so that a record can overwrite another in place.
    private static let byteCount = 128

    /// The file's bytes, padded with spaces.
    var bytes: [UInt8] {
        let line = Array("1 \(count) \(boot) \(time)".utf8)
        return line + [UInt8](repeating: UInt8(ascii: " "), count: max(0, Self.byteCount - 1 - line.count))
            + [UInt8(ascii: "\n")]
    }
}
