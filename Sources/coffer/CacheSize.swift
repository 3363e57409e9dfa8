internal import ArgumentParser

/// How much of a vault stays on a device, as it is written.
struct CacheSize: ExpressibleByArgument {
    /// In bytes; nil for all.
    let byteCount: Int64?

    private static let units: [Character: Int64] = [
        "k": 1_000, "M": 1_000_000, "G": 1_000_000_000, "T": 1_000_000_000_000,
    ]

    init?(argument: String) {
        if argument == "all" {
            byteCount = nil
            return
        }
        var digits = argument[...]
        if digits.count > 1, digits.last == "B" { digits.removeLast() }
        var unit: Int64 = 1
        if let known = digits.last.flatMap({ Self.units[$0 == "K" ? "k" : $0] }) {
            unit = known
            digits.removeLast()
        }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int64(digits)
        else { return nil }
        let (bytes, overflows) = number.multipliedReportingOverflow(by: unit)
        guard !overflows else { return nil }
        byteCount = bytes
    }
}
