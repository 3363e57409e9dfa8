internal import ArgumentParser

/// How much of a vault stays on a device, as it is written.
struct CacheSize: ExpressibleByArgument {
    /// In bytes; nil for all.
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

/// Numbers of bytes with a unit, as people write them.
enum ByteUnit {
    private static let letters = "kMGT"

    /// “500M”, “500MB” in powers of 1000, “2GiB” in powers of 1024; nil for what is none.
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
