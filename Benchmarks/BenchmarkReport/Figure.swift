/// Formats numbers.
package enum Figure {
    /// Formats with three significant digits and with commas: 1,230,000, 12.3, 0.0123.
    package static func text(_ value: Double) -> String {
        if value == 0 { return "0" }
        if value < 0 { return "-" + text(-value) }
        var scale = 1.0
        var decimals = 0
        // The decimals needed for three significant digits.
        while value * scale < 99.95, decimals < 6 {
            scale *= 10
            decimals += 1
        }
        if decimals > 0 { return fixed(value, decimals: decimals) }
        var step = 1.0
        while value / step >= 999.5 { step *= 10 }
        return grouped(UInt64((value / step).rounded() * step))
    }

    /// Formats a ratio: “1.23×”, or “12×” from 10 on.
    package static func ratio(_ value: Double) -> String {
        (value < 0.095 ? fixed(value, decimals: 3) : fixed(value, decimals: value < 9.95 ? 2 : 0)) + "×"
    }

    /// Formats with a number of digits after the decimal point.
    package static func fixed(_ value: Double, decimals: Int) -> String {
        if value < 0 { return "-" + fixed(-value, decimals: decimals) }
        let scale = (0..<decimals).reduce(1.0) { product, _ in product * 10 }
        let scaled = UInt64((value * scale).rounded())
        let whole = grouped(scaled / UInt64(scale))
        if decimals == 0 { return whole }
        let digits = String(scaled % UInt64(scale))
        return whole + "." + String(repeating: "0", count: decimals - digits.count) + digits
    }

    private static func grouped(_ value: UInt64) -> String {
        var text = ""
        for (index, digit) in String(value).reversed().enumerated() {
            if index > 0, index % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }
}
