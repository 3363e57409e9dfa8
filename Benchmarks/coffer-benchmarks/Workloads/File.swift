internal import Glibc

/// An open file, which is closed at the end of its lifetime.
struct File: ~Copyable {
    let descriptor: Int32
    let path: String

    init(_ path: String, _ flags: Int32) throws {
        descriptor = try check(open(path, flags | O_CLOEXEC, mode_t(0o644)), "open \(path)")
        self.path = path
    }

    deinit {
        close(descriptor)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            done += try check(
                pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + done)), "write \(path)")
        }
    }

    /// Reads until the buffer is full or the file ends; returns the number of bytes.
    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = try check(
                pread(descriptor, rest.baseAddress, rest.count, off_t(offset + done)), "read \(path)")
            if count == 0 { break }
            done += count
        }
        return done
    }

    func sync() throws {
        try check(fsync(descriptor), "fsync \(path)")
    }
}

/// A page-aligned buffer for reads.
struct ReadBuffer: ~Copyable {
    let bytes: UnsafeMutableRawBufferPointer

    init(_ count: Int) {
        bytes = .allocate(byteCount: count, alignment: 4_096)
        // Touch all pages, so that no page fault happens while time is measured.
        bytes.initializeMemory(as: UInt8.self, repeating: 1)
    }

    deinit {
        bytes.deallocate()
    }
}
