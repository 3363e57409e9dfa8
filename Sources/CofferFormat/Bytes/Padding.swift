/// Pads records before they are sealed, so that their lengths reveal little about their contents.
package enum Padding {
    /// The smallest padded size: a record that only acknowledges looks like one that changes a little.
    package static let byteCountMin = 512

    /// The padded size of `count` bytes.
    ///
    /// PADMÉ (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and Communication with PURBs",
    /// 2019), which adds at most 12 % above the minimum of 512 bytes.
    package static func byteCount(_ count: Int) -> Int {
        guard count > byteCountMin else { return byteCountMin }
        let exponent = Int.bitWidth - 1 - count.leadingZeroBitCount
        let digits = Int.bitWidth - exponent.leadingZeroBitCount
        let mask = (1 << (exponent - digits)) - 1
        return (count + mask) & ~mask
    }

    /// Adds the length (4 bytes) before the content, and zeros after it.
    static func padded(_ content: [UInt8]) -> [UInt8] {
        let total = byteCount(content.count + 4)
        var writer = ByteWriter(capacity: total)
        writer.number(UInt32(content.count))
        writer.append(content)
        writer.append(repeatElement(0, count: total - content.count - 4))
        return writer.finish()
    }

    /// Removes the padding, which must be exactly what `padded` adds.
    static func content(of padded: [UInt8]) throws(FormatError) -> [UInt8] {
        let span = unsafe padded.span.bytes
        var cursor = ByteCursor()
        let count = Int(try cursor.number(UInt32.self, from: span))
        let content = try cursor.bytes(count, from: span)
        guard padded.count == byteCount(count + 4), padded[(count + 4)...].allSatisfy({ $0 == 0 }) else {
            throw .invalid(field: "padding")
        }
        return content
    }
}
