import Foundation

/// A system call that failed.
struct CallError: Error, CustomStringConvertible {
    let code: Int32
    let path: String

    var description: String { "\(path): \(String(cString: strerror(code)))" }
}

/// File access by plain system calls, so that tests see each error number.
enum Files {
    static func check<Number: SignedInteger>(_ result: Number, _ path: String) throws {
        if result < 0 { throw CallError(code: errno, path: path) }
    }

    /// Makes or replaces a file.
    static func write(_ bytes: [UInt8], to path: String, durably: Bool = false) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        try check(file, path)
        var failure: CallError?
        do {
            try append(bytes, to: file, path)
            if durably { try check(fsync(file), path) }
        } catch let error as CallError {
            failure = error
        }
        if close(file) != 0, failure == nil { failure = CallError(code: errno, path: path) }
        if let failure { throw failure }
    }

    static func write(_ text: String, to path: String, durably: Bool = false) throws {
        try write(Array(text.utf8), to: path, durably: durably)
    }

    /// Writes all bytes at the current position of an open file.
    static func append(_ bytes: [UInt8], to file: Int32, _ path: String) throws {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Glibc.write(file, buffer.baseAddress?.advanced(by: done), buffer.count - done)
            }
            try check(count, path)
            done += count
        }
    }

    static func read(_ path: String, at offset: Int = 0, count: Int = .max) throws -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        try check(file, path)
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 17)
        while bytes.count < count {
            let wanted = min(buffer.count, count - bytes.count)
            let got = pread(file, &buffer, wanted, offset + bytes.count)
            try check(got, path)
            if got == 0 { break }
            bytes += buffer.prefix(got)
        }
        return bytes
    }

    static func text(_ path: String) throws -> String {
        String(decoding: try read(path), as: UTF8.self)
    }

    static func makeDirectory(_ path: String, mode: mode_t = 0o755) throws {
        try check(mkdir(path, mode), path)
    }
    static func removeDirectory(_ path: String) throws { try check(rmdir(path), path) }
    static func remove(_ path: String) throws { try check(unlink(path), path) }
    static func move(_ path: String, to target: String) throws { try check(rename(path, target), path) }

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// The names in a directory, sorted.
    static func names(_ path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }

    /// All files below a directory.
    static func all(below path: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: path).map { "\(path)/\($0)" }.filter {
            var isDirectory: ObjCBool = false
            return FileManager.default.fileExists(atPath: $0, isDirectory: &isDirectory)
                && !isDirectory.boolValue
        }
    }

    /// Inverts a byte of a file.
    static func flip(_ path: String, at offset: Int) throws {
        let file = open(path, O_RDWR | O_CLOEXEC)
        try check(file, path)
        defer { close(file) }
        var byte: UInt8 = 0
        try check(pread(file, &byte, 1, offset), path)
        byte = ~byte
        try check(pwrite(file, &byte, 1, offset), path)
    }
}

/// The error number that a body throws; 0 if it succeeds.
func errorNumber(_ body: () throws -> Void) throws -> Int32 {
    do {
        try body()
        return 0
    } catch let error as CallError {
        return error.code
    }
}

/// Incompressible bytes, the same in each run.
func pattern(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        withUnsafeBytes(of: state ^ (state >> 29)) { bytes.append(contentsOf: $0) }
    }
    return Array(bytes.prefix(count))
}
