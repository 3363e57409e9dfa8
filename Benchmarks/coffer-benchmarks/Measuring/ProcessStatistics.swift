internal import Glibc

/// The kernel's statistics of a process and its descendants.
struct ProcessStatistics {
    /// CPU time in user and kernel mode, in seconds.
    var cpuSeconds = 0.0
    /// The peak of resident memory, in bytes, summed over the processes.
    var peakMemory = 0.0

    init(_ process: pid_t) {
        for id in Self.family(process) {
            // Split after the name, which may contain spaces: state is field 3, utime 14, stime 15.
            let fields = Self.text("/proc/\(id)/stat").split(separator: ")").last?.split(separator: " ") ?? []
            if fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) {
                cpuSeconds += (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
            }
            for line in Self.text("/proc/\(id)/status").split(separator: "\n")
            where line.hasPrefix("VmHWM:") {
                peakMemory +=
                    (line.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0) * 1_024
            }
        }
    }

    /// Resets the peak of a process and its descendants to their resident memory now (proc(5), clear_refs).
    static func resetPeak(of process: pid_t) {
        for id in family(process) {
            guard let file = fopen("/proc/\(id)/clear_refs", "we") else { continue }
            fputs("5", file)
            fclose(file)
        }
    }

    private static func family(_ process: pid_t) -> [pid_t] {
        let children = text("/proc/\(process)/task/\(process)/children").split(separator: " ")
        return [process] + children.compactMap { pid_t($0) }.flatMap(family)
    }

    static func text(_ path: String) -> String {
        guard let file = fopen(path, "re") else { return "" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
