internal import ArgumentParser
internal import CofferBench
internal import CofferClient
internal import CofferSystem

struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure how fast this machine encrypts, and reads and writes through a mount.",
        discussion: """
            Creates files and a temporary vault in a directory, mounts the vault there, and removes everything at the \
            end, even if interrupted. It needs no profile, and touches none. It takes less than half a minute.

            Each figure is the median of three rounds, followed by the lowest and the highest. Figures of the mount are \
            followed by how many times as fast the cipher alone (libcrypto, on one core) and the disk alone are. The \
            disk is measured as a vault uses it: two transfers of 1 MiB at a time, past the kernel's cache. Other \
            programs that run at the same time change the figures.
            """)

    @OptionGroup var home: HomeOption

    @Flag(help: "Do one round and fewer passphrases, in less than 10 seconds.")
    var quick = false

    @Option(
        help: ArgumentHelp(
            "The size of the large file: a number with K, M or G. At most a third of the free space is used.",
            valueName: "size"))
    var size = ByteSize(count: 512 << 20)

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(
        help: "Where to measure (default: where the profile is or would be).", completion: .directory)
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

/// A number of bytes in the notation “512M”, in powers of 1024.
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
