internal import CQRencode

/// A QR code (ISO/IEC 18004), made by libqrencode.
struct QRCode {
    /// The blank modules around the code.
    private static let margin = 4

    /// The number of modules in a row.
    let width: Int
    /// Whether each module is dark, row by row.
    private let isDark: [Bool]

    /// Makes the code of an ASCII text; nil if it is too long for a code.
    ///
    /// A quarter of it may be unreadable (level Q): paper is folded and stained.
    init?(_ text: String) {
        guard let code = unsafe QRcode_encodeString(text, 0, QR_ECLEVEL_Q, QR_MODE_8, 1) else { return nil }
        defer { unsafe QRcode_free(code) }
        let width = Int(unsafe code.pointee.width)
        // SAFETY: libqrencode gives width × width bytes, which live until the code is freed.
        let modules = unsafe UnsafeMutableBufferPointer(start: code.pointee.data, count: width * width)
        isDark = unsafe modules.map { $0 & 1 == 1 }
        // The modules tell the words.
        unsafe modules.update(repeating: 0)
        self.width = width
    }

    private func isDark(_ row: Int, _ column: Int) -> Bool {
        guard (0..<width).contains(row), (0..<width).contains(column) else { return false }
        return isDark[row * width + column]
    }

    /// The code as lines of text, two rows of modules in each.
    ///
    /// - Parameter colors: Whether to set black on white, for terminals; without, a dark module is a block,
    ///   which is right on paper.
    func lines(colors: Bool) -> [String] {
        let places = -Self.margin..<width + Self.margin
        return stride(from: places.lowerBound, to: places.upperBound, by: 2).map { row in
            let blocks = places.map { column in
                switch (isDark(row, column), isDark(row + 1, column)) {
                case (true, true): "█"
                case (true, false): "▀"
                case (false, true): "▄"
                case (false, false): " "
                }
            }.joined()
            return colors ? "\u{1B}[30;107m\(blocks)\u{1B}[0m" : blocks
        }
    }

    /// The dark modules as the data of an SVG path, in units of one module, without a margin.
    var path: String {
        (0..<width).flatMap { row in
            (0..<width).filter { isDark(row, $0) }.map { "M\($0) \(row)h1v1h-1z" }
        }.joined()
    }
}
