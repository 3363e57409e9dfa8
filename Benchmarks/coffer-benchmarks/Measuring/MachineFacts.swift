internal import BenchmarkReport
internal import Glibc

extension Machine {
    /// Describes this machine, and the disk of a directory.
    init(storing directory: String) {
        let processors = ProcessStatistics.text("/proc/cpuinfo").split(separator: "\n")
        let model = processors.first { $0.hasPrefix("model name") }?.split(separator: ":").last ?? "unknown"
        let count = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        let pages = sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
        let release = ProcessStatistics.text("/etc/os-release").split(separator: "\n")
        let name = release.first { $0.hasPrefix("PRETTY_NAME=") }?.dropFirst(12).filter { $0 != "\"" }
        let kernel = ProcessStatistics.text("/proc/sys/kernel/osrelease").filter { $0 != "\n" }
        let facts = try? Command("findmnt", ["-n", "-o", "SOURCE,FSTYPE,OPTIONS", "-T", directory]).run()
        let disk = facts?.split(whereSeparator: \.isWhitespace).joined(separator: ", ")
        self.init(
            processor: "\(count) × \(model.drop { $0 == " " })", memory: UInt64(pages), kernel: kernel,
            distribution: name ?? "unknown", disk: disk ?? "unknown")
    }

    /// The load average of the last minutes.
    static var load: String {
        ProcessStatistics.text("/proc/loadavg").split(separator: " ").prefix(3).joined(separator: " ")
    }

    /// The current time, such as “2026-01-31 12:00 UTC”.
    static var date: String {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        let pair: (Int32) -> String = { $0 < 10 ? "0\($0)" : "\($0)" }
        return "\(parts.tm_year + 1900)-\(pair(parts.tm_mon + 1))-\(pair(parts.tm_mday)) "
            + "\(pair(parts.tm_hour)):\(pair(parts.tm_min)) UTC"
    }
}
