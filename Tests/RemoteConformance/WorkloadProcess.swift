internal import Foundation

/// A run of remote-workload, with its output.
final class WorkloadProcess {
    private let process = Process()
    private let output: URL

    /// Starts it; the program is next to the tests, or where REMOTE_WORKLOAD_BINARY says.
    init(_ arguments: [String], _ environment: [String: String]) throws {
        output = FileManager.default.temporaryDirectory
            .appending(path: "remote-workload-\(UInt64.random(in: 0 ... .max))")
        _ = FileManager.default.createFile(atPath: output.path, contents: nil)
        process.executableURL = try Self.program()
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = try FileHandle(forWritingTo: output)
        try process.run()
    }

    deinit {
        kill()
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: output)
    }

    private static func program() throws -> URL {
        if let path = ProcessInfo.processInfo.environment["REMOTE_WORKLOAD_BINARY"] {
            return URL(filePath: path)
        }
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = URL(filePath: tests).deletingLastPathComponent().appending(path: "remote-workload")
        guard FileManager.default.isExecutableFile(atPath: program.path) else {
            throw ConformanceFailure("\(program.path) is missing; run swift build")
        }
        return program
    }

    /// Kills it, if it runs.
    func kill() {
        if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    }

    /// Waits for its end; returns its exit status, or the signal that ended it.
    func wait() -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// The lines that it has written.
    var lines: [Substring] {
        let text = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
        // An incomplete line does not count.
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    }

    /// The names that it put first, and the numbers of its objects.
    var won: [(name: UInt64, number: UInt64)] {
        lines.compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 3, words[0] == "won", let name = UInt64(words[1]),
                let number = UInt64(words[2])
            else { return nil }
            return (name, number)
        }
    }
}
