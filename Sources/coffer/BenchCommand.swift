internal import ArgumentParser
internal import CofferClient
internal import CofferSystem

struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measure the cipher, the disk and a mount of this machine.",
        discussion: """
            Makes files and a throw-away vault in a directory, mounts the vault there, and removes everything \
            at the end, also when it is interrupted. No profile is needed, and none is touched. Ends within \
            half a minute.

            Each figure is the median of three rounds, with the least and the greatest of them behind it. \
            Behind a figure of the mount stands how many times as fast the cipher alone (libcrypto, on one \
            core) and the disk alone are. The disk is asked as a vault asks it: two transfers of 1 MiB at a \
            time, past the kernel's cache. Other programs that run meanwhile change the figures.
            """)

    @OptionGroup var home: HomeOption

    @Flag(help: "One round, and fewer passphrases: ends within 10 seconds.")
    var quick = false

    @Option(
        help: ArgumentHelp(
            "The most bytes of the large file, with K, M or G behind it; a third of the free space if that is less.",
            valueName: "size"))
    var size = ByteSize(count: 512 << 20)

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(
        help: "Where to measure (default: where the profile is, or would be).", completion: .directory)
    var directory: String?

    func run() throws {
        let directory = try directory ?? Bench.directory(for: home.location())
        let options = try MountOptions(parsing: ["noprotect"]).service
        let bar = ProgressBar("Measuring")
        defer { bar.end() }
        let bench = Bench(in: directory, size: size.count, isQuick: quick)
        let outcome = try bench.run(options, environment: Environment.value) { bar.show($0) }
        bar.end()
        switch outcome {
        case .interrupted(let signal):
            Output.error("coffer: Interrupted; everything was removed.")
            EndingSignals.die(of: signal)
        case .report(let report):
            if json { try Output.json(report) } else { BenchTable(report: report).print() }
        }
    }
}

/// A number of bytes as people write it: “512M”.
struct ByteSize: ExpressibleByArgument, CustomStringConvertible {
    let count: Int

    init(count: Int) {
        self.count = count
    }

    init?(argument: String) {
        let units: [Character: Int] = ["K": 10, "M": 20, "G": 30, "T": 40]
        let shift = argument.last.flatMap { units[$0] }
        guard let number = Int(shift == nil ? argument : String(argument.dropLast())), number > 0 else {
            return nil
        }
        let (count, overflows) = number.multipliedReportingOverflow(by: 1 << (shift ?? 0))
        guard !overflows else { return nil }
        self.count = count
    }

    var description: String { count % (1 << 20) == 0 ? "\(count >> 20)M" : "\(count)" }
    var defaultValueDescription: String { description }
}
