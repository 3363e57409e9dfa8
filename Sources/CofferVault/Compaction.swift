/// Limits of compaction.
enum Compaction {
    /// Plaintext bytes of a range below which it counts as small.
    static let smallByteCount: Int64 = 64 << 10
}

extension Vault {
    func compact() throws(FileSystemError) {}
}
