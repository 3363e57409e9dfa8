internal import Glibc

/// A program with its arguments.
struct Command {
    var program: String
    var arguments: [String]
    /// Variables that are added to this process's environment.
    var environment: [String: String] = [:]
    /// The text of its standard input.
    var input = ""

    init(_ program: String, _ arguments: [String], environment: [String: String] = [:], input: String = "") {
        self.program = program
        self.arguments = arguments
        self.environment = environment
        self.input = input
    }

    var text: String { ([program] + arguments).joined(separator: " ") }

    /// Runs to the end, and returns the output, including standard error.
    ///
    /// - Throws: `Failure` with the output if the exit code is not accepted.
    @discardableResult
    func run(accepting codes: Set<Int32> = [0]) throws -> String {
        let pipe = try Pipe()
        let process: ChildProcess
        do {
            process = try ChildProcess(self, output: pipe.writing)
        } catch {
            close(pipe.reading)
            close(pipe.writing)
            throw error
        }
        close(pipe.writing)
        defer { close(pipe.reading) }
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(pipe.reading, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            if count <= 0 { break }
            output += buffer[..<count]
        }
        let text = String(decoding: output, as: UTF8.self)
        let code = process.wait()
        guard codes.contains(code) else {
            throw Failure("“\(self.text)” ended with \(code): \(text.suffix(2_000))")
        }
        return text
    }

    /// Returns the path of an installed program, or nil.
    static func find(_ name: String) -> String? {
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        return (path.split(separator: ":").map { "\($0)/\(name)" } + ["/usr/sbin/\(name)", "/sbin/\(name)"])
            .first { access($0, X_OK) == 0 }
    }
}
