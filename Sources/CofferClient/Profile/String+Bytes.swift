extension String {
    /// Whether two names are one to a file system: by their bytes, not by what they look like (Swift's own
    /// comparison takes Unicode's composed and decomposed forms for equal).
    package func hasSameBytes(as other: String) -> Bool {
        utf8.elementsEqual(other.utf8)
    }
}
