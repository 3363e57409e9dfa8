import Foundation
import Testing

/// What a process has in its memory, read through proc(5) as root.
enum MemoryImage {
    /// Those of some byte strings that the memory of a process contains, by their names.
    static func found(_ wanted: [String: [UInt8]], in process: pid_t) throws -> Set<String> {
        let memory = open("/proc/\(process)/mem", O_RDONLY | O_CLOEXEC)
        try Files.check(memory, "/proc/\(process)/mem")
        defer { close(memory) }
        var found: Set<String> = []
        for range in try ranges(process) {
            var bytes = [UInt8](repeating: 0, count: range.count)
            let count = pread(memory, &bytes, bytes.count, off_t(range.lowerBound))
            // Guard pages, and pages of devices, cannot be read.
            guard count > 0 else { continue }
            let data = Data(bytes.prefix(count))
            for (name, text) in wanted where data.range(of: Data(text)) != nil {
                found.insert(name)
            }
        }
        return found
    }

    /// The ranges of memory that a process may have written, in pieces that overlap a little.
    private static func ranges(_ process: pid_t) throws -> [Range<Int>] {
        let (piece, overlap) = (16 << 20, 4096)
        return try Files.text("/proc/\(process)/maps").split(separator: "\n").flatMap {
            line -> [Range<Int>] in
            let fields = line.split(separator: " ")
            let ends = fields[0].split(separator: "-").compactMap { Int($0, radix: 16) }
            guard ends.count == 2, fields[1].hasPrefix("r") else { return [] }
            return stride(from: ends[0], to: ends[1], by: piece).map {
                $0..<min($0 + piece + overlap, ends[1])
            }
        }
    }
}
