/// A piece of a file that is not in memory, so that reading it waits for the disk.
package struct AbsentPage: Sendable {
    /// The neighbourhood that is read along with a page: a disk that is slow to begin hardly takes longer for it.
    private static let nearbyByteCount = 128 << 10

    private let file: any StorageFile
    private let offset: Int, count: Int

    /// Names `count` bytes at `offset`.
    package init(of file: any StorageFile, at offset: Int, count: Int) {
        (self.file, self.offset, self.count) = (file, offset, count)
    }

    /// Brings the page, and its neighbourhood, into the page cache; waits for the disk.
    package func bring() throws(SystemError) {
        let start = offset / Self.nearbyByteCount * Self.nearbyByteCount
        file.bringNear(at: start, count: Self.nearbyByteCount)
        var bytes = [UInt8](repeating: 0, count: count)
        _ = try bytes.withMutableRawSpan { (bytes: inout MutableRawSpan) throws(SystemError) in
            try file.read(into: &bytes, at: offset)
        }
    }
}
