import Foundation
import Testing

/// A system call that failed, with its errno.
struct Failed: Error, Equatable {
    let code: Int32
}

/// System calls of a program in a mount.
enum Program {
    @discardableResult
    private static func check<Number: SignedInteger>(_ result: Number) throws -> Number {
        if result < 0 { throw Failed(code: errno) }
        return result
    }

    static func status(_ path: String) throws -> stat {
        var status = stat()
        try check(lstat(path, &status))
        return status
    }

    static func status(_ file: Int32) throws -> stat {
        var status = stat()
        try check(fstat(file, &status))
        return status
    }

    static func opens(_ path: String, _ flags: Int32 = O_RDWR) throws -> Int32 {
        try check(open(path, flags | O_CLOEXEC, 0o644))
    }

    static func reads(_ file: Int32, count: Int = 1 << 16) throws -> String {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = try check(pread(file, &bytes, count, 0))
        return String(decoding: bytes.prefix(got), as: UTF8.self)
    }

    static func reads(_ path: String, count: Int = 1 << 16) throws -> String {
        let file = try opens(path, O_RDONLY)
        defer { close(file) }
        return try reads(file, count: count)
    }

    static func writes(_ text: String, to file: Int32, at offset: Int = 0) throws {
        let bytes = Array(text.utf8)
        #expect(try check(pwrite(file, bytes, bytes.count, offset)) == bytes.count)
    }

    static func closes(_ file: Int32) throws { try check(close(file)) }

    static func truncates(_ file: Int32, to size: Int) throws { try check(ftruncate(file, size)) }

    static func syncs(_ file: Int32) throws { try check(fsync(file)) }

    static func lists(_ path: String) throws -> [String] {
        guard let directory = opendir(path) else { throw Failed(code: errno) }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}

/// A child process that communicates in lines.
final class Child {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var rest: [UInt8] = []

    init(_ program: String, _ arguments: [String]) throws {
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        try process.run()
    }

    func says(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    /// The next line; waits for it.
    func line() throws -> String {
        while true {
            if let end = rest.firstIndex(of: 10) {
                defer { rest.removeFirst(end + 1) }
                return String(decoding: rest[..<end], as: UTF8.self)
            }
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = read(output.fileHandleForReading.fileDescriptor, &buffer, buffer.count)
            guard count > 0 else { throw Failed(code: EPIPE) }
            rest += buffer.prefix(count)
        }
    }

    func end() {
        // It inherits a mask that blocks other signals.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
