internal import ArgumentParser

/// The argument of `--cache`: the content of a vault to keep on a device.
struct CacheSize: ExpressibleByArgument {
    /// The limit in bytes; nil for “all”.
    let byteCount: Int64?

    init?(argument: String) {
        if argument == "all" {
            byteCount = nil
            return
        }
        guard let bytes = ByteUnit.count(argument) else { return nil }
        byteCount = bytes
    }
}

/// Parses numbers of bytes with a unit.
enum ByteUnit {
    private static let letters = "kMGT"

    /// Parses “500M” and “500MB” in powers of 1000, and “2GiB” in powers of 1024; nil for other text.
    static func count(_ text: String) -> Int64? {
        var digits = text[...]
        var base: Int64 = 1000
        if digits.count > 1, digits.last == "B" { digits.removeLast() }
        if digits.count > 1, digits.last == "i" {
            digits.removeLast()
            base = 1024
        }
        var unit: Int64 = 1
        if let last = digits.last, let place = letters.firstIndex(of: last == "K" ? "k" : last) {
            digits.removeLast()
            let power = letters.distance(from: letters.startIndex, to: place) + 1
            for _ in 0..<power { unit *= base }
        } else if base == 1024 {
            return nil
        }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int64(digits)
        else { return nil }
        let (bytes, overflows) = number.multipliedReportingOverflow(by: unit)
        return overflows ? nil : bytes
    }
}
