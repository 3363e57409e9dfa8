import Foundation
import Testing

/// A program to run, with only the parts of the tests' environment that are set here.
struct Command {
    let program: String
    var arguments: [String]
    var environment: [String: String] = [:]
    /// What it reads from standard input.
    var input = ""
    /// Open files to pass to the program, by their number there.
    var descriptors: [Int32: Int32] = [:]

    init(_ program: String, _ arguments: [String]) {
        self.program = program
        self.arguments = arguments
    }

    /// How a program ended, and what it wrote.
    struct Result {
        /// The exit code, or the negated signal number.
        let status: Int32
        let output: String
        let error: String

        /// The lines of the output.
        var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    /// A program that neither ended nor closed its output in time.
    struct Stuck: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs the program until it has ended and every holder has closed its output.
    func run(seconds: Int = 300) throws -> Result {
        let child = try Child(self)
        return try child.wait(seconds: seconds)
    }

    /// Runs the program, which has to succeed.
    @discardableResult
    func succeed(
        seconds: Int = 300, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Result {
        let result = try run(seconds: seconds)
        try #require(
            result.status == 0, "\(self) ended with \(result.status): \(result.error)\(result.output)",
            sourceLocation: sourceLocation)
        return result
    }

    /// Runs the program, which has to end with a code.
    @discardableResult
    func fail(
        with status: Int32, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Result {
        let result = try run()
        #expect(
            result.status == status, "\(self) ended with \(result.status): \(result.error)\(result.output)",
            sourceLocation: sourceLocation)
        return result
    }
}

extension Command: CustomStringConvertible {
    var description: String {
        ([(program as NSString).lastPathComponent] + arguments).joined(separator: " ")
    }
}
