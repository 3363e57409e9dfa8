/// Numbers of bytes for people: “12.3 MB”, in powers of 1000.
package enum ByteText {
    /// A number of bytes in words.
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
