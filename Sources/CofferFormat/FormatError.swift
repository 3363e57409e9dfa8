/// Why bytes are not the record that they should be.
package enum FormatError: Error, Equatable {
    /// Another kind of file, or none of ours.
    case notThisKind
    /// Written by a newer Coffer than this one.
    case newerVersion(found: UInt32, supported: UInt32)
    /// Ends before its last field.
    case truncated
    /// Goes on behind its last field.
    case trailingBytes
    /// A field has a value that the format forbids.
    case invalid(field: String)
    /// A field has a number that a newer Coffer may know, such as another operation or role.
    case unknown(field: String, found: UInt32)
    /// Two records speak of one thing, of which one may.
    case duplicate(field: String)
}
