// The beginning of files, packs, and signed records.

extension ByteWriter {
    /// Writes a magic of 8 characters, then the format version: 12 bytes.
    package mutating func header(_ magic: StaticString, version: UInt32) {
        append(Array("\(magic)".utf8))
        number(version)
    }
}

extension ByteCursor {
    /// Checks the magic and the format version.
    ///
    /// - Throws: `.notThisKind`, `.newerVersion`, `.truncated`, `.invalid`.
    package mutating func header(
        _ magic: StaticString, version: UInt32, from bytes: RawSpan
    ) throws(FormatError) {
        guard bytes.byteCount >= 8, try self.bytes(8, from: bytes) == Array("\(magic)".utf8) else {
            throw .notThisKind
        }
        let found = try number(UInt32.self, from: bytes)
        guard found <= version else { throw .newerVersion(found: found, supported: version) }
        guard found == version else { throw .invalid(field: "version") }
    }
}
