package import CofferSystem

/// A read-only file in memory.
package final class MemoryFile: StorageFile {
    private let bytes: [UInt8]

    /// A file of these bytes.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    package func read(into buffer: inout MutableRawSpan, at offset: Int) throws(SystemError) -> Int {
        let range = (offset..<offset + buffer.byteCount).clamped(to: 0..<bytes.count)
        bytes.withRawSpan { buffer.copyBytes(from: $0.extracting(range)) }
        return range.count
    }

    package func size() throws(SystemError) -> Int { bytes.count }

    package func write(_ bytes: RawSpan, at offset: Int) throws(SystemError) { throw Self.readOnly }
    package func truncate(to size: Int) throws(SystemError) { throw Self.readOnly }
    package func dataSync() throws(SystemError) {}
    package func startWriteback(at offset: Int, count: Int) {}
    package func punchHole(at offset: Int, count: Int) throws(SystemError) { throw Self.readOnly }
    package func preallocate(at offset: Int, count: Int) throws(SystemError) { throw Self.readOnly }

    private static let readOnly = SystemError("write", code: 30, on: "a file in memory")
}
