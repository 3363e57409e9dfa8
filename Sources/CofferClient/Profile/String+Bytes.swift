extension String {
    /// Whether two names are the same to a filesystem, which compares bytes.
    ///
    /// Swift's `==` treats composed and decomposed Unicode forms as equal.
    package func hasSameBytes(as other: String) -> Bool {
        utf8.elementsEqual(other.utf8)
    }
}
