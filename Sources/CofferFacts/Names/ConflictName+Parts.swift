package import CofferFormat

extension ConflictName {
    /// The parts of the name of a conflict copy.
    package struct Parts: Equatable, Sendable {
        /// The name that the conflict copy could not have.
        package let original: EntryName
        /// The author's label for the device, as text for people; nil if the copy was written on this device,
        /// beside incoming changes.
        package let label: String?
        /// The day when it was made, in UTC, in the form 2026-11-20.
        package let date: String
    }

    /// The beginning of the part that marks a name as that of a conflict copy.
    package static var mark: [UInt8] { marker }

    /// Splits the name of a conflict copy; nil for any other name.
    package static func parts(of name: EntryName) -> Parts? {
        let ending = ending(name.bytes)
        let body = withoutNumber(name.bytes.dropLast(ending.count))
        guard body.last == UInt8(ascii: ")"),
            let start = body.indices.last(where: { body[$0...].starts(with: marker) })
        else { return nil }
        let inner = body[(start + marker.count)...].dropLast()
        let date = String(decoding: inner.suffix(dateByteCount), as: UTF8.self)
        let rest = inner.dropLast(dateByteCount)
        guard rest.isEmpty || rest.suffix(2).elementsEqual(", ".utf8), isDate(date),
            let original = EntryName(body[..<start] + ending)
        else { return nil }
        let label = rest.isEmpty ? nil : String(decoding: rest.dropLast(2), as: UTF8.self)
        return Parts(original: original, label: label, date: date)
    }

    private static let dateByteCount = 10

    private static func isDate(_ text: String) -> Bool {
        text.utf8.count == dateByteCount
            && text.utf8.enumerated().allSatisfy { index, byte in
                index == 4 || index == 7
                    ? byte == UInt8(ascii: "-") : (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            }
    }
}
