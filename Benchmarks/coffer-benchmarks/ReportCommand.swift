internal import ArgumentParser
internal import BenchmarkReport

struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report", abstract: "Make the report again from saved samples.")

    @Argument(
        help: ArgumentHelp("The samples that a run saved.", valueName: "results.json"), completion: .file())
    var results: String

    @Option(
        help: ArgumentHelp(
            "The directory for the report (default: that of the samples).", valueName: "directory"))
    var output: String?

    func run() throws {
        let file = try File(results, 0)
        var bytes: [UInt8] = []
        let buffer = ReadBuffer(1 << 20)
        while true {
            let count = try file.read(buffer.bytes, at: bytes.count)
            if count == 0 { break }
            bytes += buffer.bytes[..<count]
        }
        let own = results.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(
            separator: "/")
        let directory = output ?? (own.isEmpty ? (results.hasPrefix("/") ? "/" : ".") : own)
        try ReportFiles(try Results(json: bytes)).write(to: directory)
    }
}
