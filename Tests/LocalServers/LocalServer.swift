internal import Foundation

/// A server program on this machine that ends with this value, or with the process that holds it.
package final class LocalServer: Sendable {
    /// Why a server did not start.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let process: Process
    private let output: URL
    /// A directory for files of the server, which is removed with it.
    private let directory: URL

    /// Starts a program, without waiting until it serves.
    ///
    /// - Parameter command: The program's name or path, and its arguments.
    package convenience init(_ command: [String]) throws {
        try self.init(command, in: try Self.makeDirectory())
    }

    /// Makes a directory for files of a server.
    package static func makeDirectory() throws -> String {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "coffer-server-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        return directory.path
    }

    /// Starts a program, without waiting until it serves; its directory is removed with it.
    package init(_ command: [String], in directory: String) throws {
        let process = Process()
        let output = URL(filePath: directory).appending(path: "output")
        _ = FileManager.default.createFile(atPath: output.path, contents: nil)
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", Self.script("supervise.py"), directory] + command
        let handle = try FileHandle(forWritingTo: output)
        process.standardOutput = handle
        process.standardError = handle
        process.standardInput = FileHandle.nullDevice
        try process.run()
        self.process = process
        self.output = output
        self.directory = URL(filePath: directory)
    }

    deinit {
        process.terminate()
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: directory)
    }

    /// The path of one of this target's scripts.
    package static func script(_ name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Scripts/\(name)").path
    }

    /// What the program has written so far.
    package var text: String { (try? String(contentsOf: output, encoding: .utf8)) ?? "" }

    /// Whether it still runs.
    package var isRunning: Bool { process.isRunning }

    /// Waits until the server shows that it serves.
    ///
    /// - Throws: What the program has written, if it ends before, or after two minutes.
    package func wait<Value>(until isServing: (String) throws -> Value?) throws -> Value {
        for _ in 0..<2400 {
            if let value = try isServing(text) { return value }
            if !process.isRunning { break }
            usleep(50_000)
        }
        throw Failure(description: "the server does not serve: \(text)")
    }

    /// The port that one of the scripts here prints as its first line.
    package func port() throws -> Int {
        try wait { text in
            guard let end = text.firstIndex(of: "\n") else { return nil }
            return text[..<end].isEmpty ? nil : Int(text[..<end])
        }
    }

    /// Whether a command ends with status 0.
    package static func canRun(_ command: [String]) -> Bool {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    /// Whether a program can be found in PATH, or among the system's.
    package static func has(_ program: String) -> Bool { path(of: program) != nil }

    /// The path of a program.
    package static func path(of program: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let directories: [Substring] = path.split(separator: ":") + ["/usr/sbin", "/sbin"]
        return directories.map { "\($0)/\(program)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// A port that nothing listens on.
    package static func freePort() throws -> Int {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, size) == 0 ? getsockname(socket, address, &size) : -1
            }
        }
        guard code == 0 else { throw Failure(description: "no port is free") }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// The processes whose command line has a text that nobody else uses.
    package static func processes(with text: String) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { process in
            let command = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") ?? Data()
            return String(decoding: command.map { $0 == 0 ? 0x20 : $0 }, as: UTF8.self).contains(text)
        }
    }
}
