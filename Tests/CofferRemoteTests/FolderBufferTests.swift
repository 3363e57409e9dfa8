import CofferFormat
import CofferRemote
import CofferSystem
import Testing

/// Large objects are written and read in whole pages past the page cache, and the rest through it.
@Suite struct FolderBufferTests {
    private let directory: TemporaryDirectory
    private let remote: FolderBackend
    private let vault = someVault()

    init() throws {
        directory = try TemporaryDirectory()
        remote = FolderBackend(path: directory.path)
    }

    @Test(arguments: [0, 1, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (3 << 20) + 4095])
    func anObjectHasTheBytesOfItsBuffer(count: Int) async throws {
        try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8 ^ $0 >> 16) }
        let buffer = AlignedBuffer(forSealed: count + 5000)
        buffer.copy(bytes.span.bytes, to: 0)
        // The bytes after them are not sent.
        buffer.withMutableBytes(count..<buffer.count) { $0.zero() }
        let name = vault.pack(PackID(low: 1, high: UInt64(count)))
        try await remote.put(name, .buffer(buffer, count), ifAbsent: true)
        let content = try await remote.get(name, 0..<count + 1)
        #expect(content.objectByteCount == count)
        let isSame = content.bytes == bytes
        #expect(isSame)
        let starts = [0, 1, 4095, 4096, count - 1, count].map { max(0, min($0, count)) }
        for (start, end) in zip(starts, [count + 10, count, count, count + 1, count, count + 9]) {
            let range = start..<end
            let part = try await remote.getBuffer(name, range)
            let isSame = part.bytes == Array(bytes[range.clamped(to: 0..<count)])
            #expect(isSame, "\(range)")
        }
    }
}
