/// The file of wrong passphrases: one line of four words (docs/format.md, "Files").
struct AttemptRecord: Equatable {
    /// More are not counted: the wait has long been as long as it gets.
    private static let countMax = 1000

    var count: Int
    /// The boot that `time` belongs to; empty if it is not known.
    var boot: String
    /// Nanoseconds since that boot.
    var time: Int64

    init(count: Int, boot: String, time: Int64) {
        self.count = count
        self.boot = boot
        self.time = time
    }

    /// Reads a file; nil if it makes no sense.
    init?(_ bytes: [UInt8]) {
        let spaces = [UInt8(ascii: " "), UInt8(ascii: "\n")]
        let fields = bytes.split(whereSeparator: spaces.contains).map { String(decoding: $0, as: UTF8.self) }
        guard fields.count == 4, fields[0] == "1", let count = Int(fields[1]), count >= 0,
            let time = Int64(fields[3]), time >= 0
        else { return nil }
        self.init(count: min(count, Self.countMax), boot: fields[2], time: time)
    }

    /// Always as long, so that one file can be written over another.
    private static let byteCount = 128

    /// The file.
    var bytes: [UInt8] {
        let line = Array("1 \(count) \(boot) \(time)".utf8)
        return line + [UInt8](repeating: UInt8(ascii: " "), count: max(0, Self.byteCount - 1 - line.count))
            + [UInt8(ascii: "\n")]
    }
}
