internal import CofferFormat
internal import CofferSystem

/// What an info file says: where an item was, and when it was deleted (freedesktop.org trash specification, version 1.0).
///
/// A path in an info file is relative to the directory that contains the trash: to the vault where the vault keeps it,
/// and to the mount where programs see it.
struct TrashInfo: Equatable {
    /// The end of the names of info files.
    static let suffix = Array(".trashinfo".utf8)
    /// The largest size of an info file in bytes: a path of 4,095 bytes takes up to three times as many.
    static let byteCountMax = 64 << 10

    private static let header = Array("[Trash Info]\n".utf8)
    private static let pathKey = Array("Path=".utf8), dateKey = Array("DeletionDate=".utf8)
    private static let slash = UInt8(ascii: "/"), lineEnd = UInt8(ascii: "\n")

    /// The path in the vault, escaped as in a URI.
    let path: [UInt8]
    /// The local time, as in 2026-11-29T08:28:03; nil if it is unknown.
    let date: [UInt8]?

    /// The info about an item that is deleted.
    ///
    /// - Parameters:
    ///   - path: The names on the way to the item.
    ///   - draft: What the program wrote; Coffer takes only the time from it.
    init(path: [[UInt8]], draft: [UInt8]) {
        self.path = Array(path.map { PercentEncoding.encode($0) }.joined(separator: [Self.slash]))
        date = Self.date(in: draft) ?? PastTime.forms(of: Clock.realTime).first.map { Array($0.utf8) }
    }

    /// Reads what a vault keeps, which another member may have forged.
    ///
    /// Nil if there is no path that leads from the vault to something in it. A program that restores the item would
    /// follow any path.
    init?(kept text: [UInt8]) {
        guard let path = Self.value(of: Self.pathKey, in: text),
            path.allSatisfy({ (0x21...0x7E).contains($0) }),
            let names = PercentEncoding.decode(path)?.split(
                separator: Self.slash, omittingEmptySubsequences: false),
            names.allSatisfy({ !$0.isEmpty && $0 != [46] && $0 != [46, 46] && !$0.contains(0) })
        else { return nil }
        self.path = path
        date = Self.date(in: text)
    }

    /// The text as the vault keeps it.
    var kept: [UInt8] { Self.text(path, date) }

    private static func text(_ path: [UInt8], _ date: [UInt8]?) -> [UInt8] {
        header + pathKey + path + [lineEnd] + (date.map { dateKey + $0 + [lineEnd] } ?? [])
    }

    // MARK: What programs see

    /// The size of what programs see of an info file, in bytes; it does not depend on the text.
    ///
    /// - Parameters:
    ///   - kept: The size of what the vault keeps; nil if that can be no info file.
    ///   - item: The item that keeps it.
    ///   - vault: The name of the vault.
    static func shownByteCount(kept: Int64?, item: Int64, vault: [UInt8]) -> Int {
        let fallback = Self.fallback(for: item, vault).count
        guard let kept else { return fallback }
        return max(fallback, Int(kept) + PercentEncoding.encode(vault).count + 1)
    }

    /// What programs see of an info file that a vault keeps: a path that begins with the name of the vault.
    static func shown(_ kept: [UInt8], item: Int64, vault: [UInt8]) -> [UInt8] {
        let count = shownByteCount(kept: Int64(kept.count), item: item, vault: vault)
        var shown = fallback(for: item, vault)
        if let info = TrashInfo(kept: kept) {
            let whole = text(PercentEncoding.encode(vault) + [slash] + info.path, info.date)
            if whole.count <= count { shown = whole }
        }
        return shown + Array(repeating: lineEnd, count: count - shown.count)
    }

    /// What is shown of an info file without a usable path.
    static func fallback(for item: Int64, _ vault: [UInt8]) -> [UInt8] {
        text(PercentEncoding.encode(vault) + Array("/trash-\(item)".utf8), nil)
    }

    // MARK: Parts of a text

    /// The value in the first line with a key.
    private static func value(of key: [UInt8], in text: [UInt8]) -> [UInt8]? {
        text.split(separator: lineEnd).first { $0.starts(with: key) }.map { Array($0.dropFirst(key.count)) }
    }

    private static func date(in text: [UInt8]) -> [UInt8]? {
        guard let date = value(of: dateKey, in: text), date.count == 19 else { return nil }
        let form = Array("0000-00-00T00:00:00".utf8)
        let isDigit = { (byte: UInt8) in (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
        return zip(date, form).allSatisfy { isDigit($1) ? isDigit($0) : $0 == $1 } ? date : nil
    }
}
