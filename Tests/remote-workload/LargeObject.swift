import CofferRemote
import CofferSystem
import RemoteConformance

/// Puts an object of 64 MiB from a file, gets it piece by piece, and checks how much memory that took.
struct LargeObject {
    private static let byteCount = 64 << 20
    private static let rangeByteCount = 4 << 20
    /// The number of bytes by which the process may grow.
    private static let growthMax = 32 << 20

    private let remote: any RemoteBackend
    private let vault: RemoteLayout

    init(_ remote: any RemoteBackend, _ vault: RemoteLayout) {
        self.remote = remote
        self.vault = vault
    }

    func run() async throws {
        guard let name = RemoteName("\(vault.packs)large") else { return }
        let before = try Self.peakByteCount()
        try await remote.put(
            name, .file(PatternFile(byteCount: Self.byteCount), 0..<Self.byteCount), ifAbsent: true)
        for start in stride(from: 0, to: Self.byteCount, by: Self.rangeByteCount) {
            let content = try await remote.get(name, start..<start + Self.rangeByteCount)
            let isRight = stride(from: 0, to: content.bytes.count, by: 4093).allSatisfy { index in
                content.bytes[index] == PatternFile.byte(at: start + index)
            }
            guard content.bytes.count == Self.rangeByteCount, content.objectByteCount == Self.byteCount,
                isRight
            else { throw ConformanceFailure("other bytes at \(start)") }
        }
        let growth = try Self.peakByteCount() - before
        say("memory grew by \(growth) bytes")
        if growth > Self.growthMax { throw ConformanceFailure("that is too much") }
    }

    /// VmHWM of proc(5): the most memory that the process had at any time.
    private static func peakByteCount() throws -> Int {
        let status = String(decoding: try WholeFile.read("/proc/self/status", limit: 1 << 16), as: UTF8.self)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        guard let number = line?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw ConformanceFailure("no VmHWM")
        }
        return number << 10
    }
}

/// An unlinked file in which every 64 KiB consist of one byte of their own.
final class PatternFile: StorageFile {
    private let byteCount: Int

    init(byteCount: Int) {
        self.byteCount = byteCount
    }

    static func byte(at offset: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: offset >> 16 &* 37)
    }

    func read(into buffer: inout MutableRawSpan, at offset: Int) throws(SystemError) -> Int {
        let count = max(0, min(buffer.byteCount, byteCount - offset))
        var done = 0
        while done < count {
            let end = min(count, (offset + done | 0xFFFF) + 1 - offset)
            let bytes = [UInt8](repeating: Self.byte(at: offset + done), count: end - done)
            buffer.copyBytes(from: bytes.span.bytes, at: done)
            done = end
        }
        return count
    }

    func size() throws(SystemError) -> Int { byteCount }

    func write(_ bytes: RawSpan, at offset: Int) throws(SystemError) {}
    func truncate(to size: Int) throws(SystemError) {}
    func dataSync() throws(SystemError) {}
    func startWriteback(at offset: Int, count: Int) {}
    func punchHole(at offset: Int, count: Int) throws(SystemError) {}
    func preallocate(at offset: Int, count: Int) throws(SystemError) {}
}
