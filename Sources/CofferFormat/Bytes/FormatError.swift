/// Why bytes are not the expected record.
package enum FormatError: Error, Equatable {
    /// The bytes are another kind of file, or not a file of Coffer.
    case notThisKind
    /// A newer version of Coffer wrote the bytes.
    case newerVersion(found: UInt32, supported: UInt32)
    /// The bytes end before the last field.
    case truncated
    /// There are bytes after the last field.
    case trailingBytes
    /// A field has a value that the format forbids.
    case invalid(field: String)
    /// A field has a number that a newer version of Coffer may know, such as another operation or role.
    case unknown(field: String, found: UInt32)
    /// Two records are about the same thing, although only one may be.
    case duplicate(field: String)
}
