internal import CFilesystemCalls
internal import Glibc

/// A mapped part of a file; the end of the last reference unmaps it.
final class Mapping {
    private let address: UnsafeMutableRawPointer
    private let length: Int

    init(_ file: Descriptor, offset: Int64 = 0, length: Int, writable: Bool = true, shared: Bool = true)
        throws
    {
        let mapped = linux_map(file.number, offset, length, writable ? 1 : 0, shared ? 1 : 0)
        guard let mapped else { throw PosixError(call: "mmap", code: errno) }
        address = mapped
        self.length = length
    }

    deinit {
        munmap(address, length)
    }

    func write(_ bytes: [UInt8], at offset: Int) {
        for (index, byte) in bytes.enumerated() where offset + index < length {
            address.storeBytes(of: byte, toByteOffset: offset + index, as: UInt8.self)
        }
    }

    func write(_ text: String, at offset: Int) {
        write(Array(text.utf8), at: offset)
    }

    func read(_ count: Int, at offset: Int = 0) -> [UInt8] {
        (offset..<min(offset + count, length)).map { address.load(fromByteOffset: $0, as: UInt8.self) }
    }

    func text(_ count: Int, at offset: Int = 0) -> String {
        String(decoding: read(count, at: offset), as: UTF8.self)
    }

    /// msync(2) with MS_SYNC.
    func synchronise() throws {
        try check("msync", msync(address, length, Int32(MS_SYNC)))
    }
}
