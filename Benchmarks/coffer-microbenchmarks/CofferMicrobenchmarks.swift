internal import ArgumentParser
internal import Glibc

@main struct CofferMicrobenchmarks: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coffer-microbenchmarks", abstract: "Times parts of Coffer alone.",
        discussion:
            "Each line: the median time of one repetition, and the least and the greatest of nine series.")

    @Option(help: ArgumentHelp("A mount, to time one request through the kernel.", valueName: "path"))
    var mount: String?

    @Option(
        help: ArgumentHelp(
            "The directory for the index and packs (default: $TMPDIR or /var/tmp).", valueName: "path"))
    var directory: String?

    @Option(help: ArgumentHelp("Only benchmarks whose name contains this.", valueName: "text"))
    var filter = ""

    func run() throws {
        let loop = Loop(filter: filter)
        try CipherBenchmarks(loop: loop).run()
        try inTemporaryDirectory { try IndexBenchmarks(loop: loop, directory: $0).run() }
        try inTemporaryDirectory { try FactBenchmarks(loop: loop, directory: $0).run() }
        try inTemporaryDirectory { try VaultBenchmarks(loop: loop, directory: $0).run() }
        try inTemporaryDirectory { try ExchangeBenchmarks(loop: loop, directory: $0).run() }
        if let mount { try RoundTripBenchmarks(loop: loop, directory: mount).run() }
    }

    private func inTemporaryDirectory(_ body: (String) throws -> Void) throws {
        let parent = directory ?? getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp"
        var template = Array((parent + "/coffer-microbenchmarks-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw RoundTripBenchmarks.SystemFailure(code: errno) }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { Self.remove(path) }
        try body(path)
    }

    private static func remove(_ path: String) {
        if unlink(path) == 0 { return }
        var names: [String] = []
        if let directory = opendir(path) {
            while let entry = readdir(directory) {
                names.append(
                    withUnsafeBytes(of: entry.pointee.d_name) {
                        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                    })
            }
            closedir(directory)
        }
        for name in names where name != "." && name != ".." { remove(path + "/" + name) }
        rmdir(path)
    }
}
