internal import CFilesystemCalls
internal import Glibc

extension Descriptor {
    /// Writes at the file position; returns the number of bytes written.
    @discardableResult
    func write(_ bytes: [UInt8]) throws -> Int {
        try bytes.withUnsafeBytes { try check("write", Glibc.write(number, $0.baseAddress, $0.count)) }
    }

    @discardableResult
    func write(_ text: String) throws -> Int {
        try write(Array(text.utf8))
    }

    /// Writes at an offset.
    @discardableResult
    func write(_ bytes: [UInt8], at offset: Int64) throws -> Int {
        try bytes.withUnsafeBytes {
            try check("pwrite", Glibc.pwrite(number, $0.baseAddress, $0.count, Int(offset)))
        }
    }

    @discardableResult
    func write(_ text: String, at offset: Int64) throws -> Int {
        try write(Array(text.utf8), at: offset)
    }

    /// One read(2) of at most `count` bytes at the file position.
    func read(_ count: Int) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
            used = try check("read", Glibc.read(number, buffer.baseAddress, count))
        }
    }

    /// One pread(2) of at most `count` bytes at an offset.
    func read(_ count: Int, at offset: Int64) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
            used = try check("pread", Glibc.pread(number, buffer.baseAddress, count, Int(offset)))
        }
    }

    /// What `read(count, at:)` yields, as text.
    func text(_ count: Int = 4096, at offset: Int64 = 0) throws -> String {
        String(decoding: try read(count, at: offset), as: UTF8.self)
    }

    /// The whole file, by pread(2) until its end.
    func contents() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let more = try read(1 << 18, at: Int64(bytes.count))
            guard !more.isEmpty else { return bytes }
            bytes += more
        }
    }

    /// One copy_file_range(2) with offsets of its own.
    @discardableResult
    func copyRange(from offset: Int64, to target: Descriptor, at targetOffset: Int64, _ length: Int) throws
        -> Int
    {
        var from = offset
        var to = targetOffset
        return try check("copy_file_range", linux_copy_file_range(number, &from, target.number, &to, length))
    }
}

/// Bytes that differ at every position of a page and from seed to seed.
func pattern(_ count: Int, seed: Int = 1) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
        fill_pattern(buffer.baseAddress, count, UInt64(seed))
        used = count
    }
}
