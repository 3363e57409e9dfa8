/// Formats numbers of bytes, in powers of 1000: “12.3 MB”.
package enum ByteText {
    /// Formats a number of bytes.
    package static func of(_ count: Int64) -> String {
        var value = Double(count)
        for unit in ["B", "kB", "MB", "GB", "TB"] {
            if value < 999.95 || unit == "TB" {
                let tenths = Int((value * 10).rounded())
                return unit == "B" ? "\(count) B" : "\(tenths / 10).\(tenths % 10) \(unit)"
            }
            value /= 1000
        }
        return "\(count) B"
    }
}
