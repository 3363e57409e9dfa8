internal import Glibc

/// What a version of a file is called that stays beside another one.
enum ConflictName {
    /// Counts up to this are tried.
    private static let countMax = 1000

    /// The first of `name (conflict, 2026-11-20).ext`, `name (conflict, 2026-11-20 2).ext` and so on that is free.
    ///
    /// - Throws: `.alreadyExists` if there are too many; what `isFree` throws.
    static func first(
        for name: [UInt8], at time: Int64, isFree: ([UInt8]) throws(FileSystemError) -> Bool
    ) throws(FileSystemError) -> [UInt8] {
        for count in 1...countMax {
            let name = make(name, at: time, count)
            if try isFree(name) { return name }
        }
        throw .alreadyExists
    }

    /// - Parameter time: In nanoseconds since 1970; the date is that of UTC.
    static func make(_ name: [UInt8], at time: Int64, _ count: Int) -> [UInt8] {
        let mark = Array(" (conflict, \(date(time))\(count > 1 ? " \(count)" : ""))".utf8)
        // A leading dot begins no extension, nor does one at the end.
        let dot = name.lastIndex(of: UInt8(ascii: ".")).flatMap { dot in
            dot > 0 && dot < name.count - 1 && name.count - dot <= extensionByteCountMax ? dot : nil
        }
        let end = dot.map { Array(name[$0...]) } ?? []
        let room = Vault.nameByteCountMax - mark.count - end.count
        return cut(name[..<(dot ?? name.count)], to: room) + mark + end
    }

    /// More bytes than these behind a dot are no extension.
    private static let extensionByteCountMax = 32

    /// The first bytes, without a part of a character of UTF-8 at the end.
    private static func cut(_ name: ArraySlice<UInt8>, to count: Int) -> [UInt8] {
        guard name.count > count else { return Array(name) }
        var end = count
        while end > 0, count - end < 4, name[name.startIndex + end] & 0xc0 == 0x80 { end -= 1 }
        return Array(name.prefix(end))
    }

    private static func date(_ nanoseconds: Int64) -> String {
        var seconds = time_t(nanoseconds / 1_000_000_000)
        var parts = unsafe tm()
        unsafe gmtime_r(&seconds, &parts)
        let (year, month, day) = unsafe (parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday)
        func padded(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(year)-\(padded(month))-\(padded(day))"
    }
}
