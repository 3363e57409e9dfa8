internal import Glibc

/// A limit of the disk's operations for one process, by a cgroup; needs root.
final class SlowDisk {
    /// Operations per second, of reads and of writes.
    static let rate = 100
    private static let name = "coffer-benchmarks"

    private let process: pid_t
    private let group: String
    /// The cgroup that the process was in.
    private let former: String

    /// Begins to limit a process.
    ///
    /// - Parameter path: A place on the disk.
    /// - Returns: Nil where the machine has no such limits.
    init?(for process: pid_t, on path: String) {
        guard let disk = Self.disk(of: path) else { return nil }
        let old = "/sys/fs/cgroup/blkio", new = "/sys/fs/cgroup"
        let limits: [(file: String, text: String)]
        let parent: String
        let controller: String
        if access("\(old)/cgroup.procs", W_OK) == 0 {
            (parent, controller) = (old, "blkio")
            limits = ["read", "write"].map { ("blkio.throttle.\($0)_iops_device", "\(disk) \(Self.rate)") }
        } else if Self.write("+io", to: "\(new)/cgroup.subtree_control") {
            (parent, controller) = (new, "")
            limits = [("io.max", "\(disk) riops=\(Self.rate) wiops=\(Self.rate)")]
        } else {
            return nil
        }
        let lines = ProcessStatistics.text("/proc/\(process)/cgroup").split(separator: "\n")
        let places = lines.map { $0.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false) }
        guard
            let place = places.first(where: {
                $0.count == 3 && $0[1].split(separator: ",").first ?? "" == controller
            })?.last
        else { return nil }
        self.process = process
        group = "\(parent)/\(Self.name)"
        former = "\(parent)\(place)"
        // One of an earlier run that was killed may still be there.
        guard mkdir(group, 0o755) == 0 || errno == EEXIST,
            limits.allSatisfy({ Self.write($0.text, to: "\(group)/\($0.file)") }),
            Self.write("\(process)", to: "\(group)/cgroup.procs")
        else {
            rmdir(group)
            return nil
        }
    }

    deinit {
        _ = Self.write("\(process)", to: "\(former)/cgroup.procs")
        // Writes that the kernel still owes keep the group for a moment.
        for _ in 0..<100 where rmdir(group) != 0 && errno == EBUSY { usleep(10_000) }
    }

    /// The device numbers of the disk below a path; nil if there is none.
    private static func disk(of path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        let device = UInt64(status.st_dev)
        let major = device >> 8 & 0xfff | device >> 32 & ~0xfff
        let minor = device & 0xff | device >> 12 & ~0xff
        let place = "/sys/dev/block/\(major):\(minor)"
        // Only whole disks have limits.
        let isPartition = access("\(place)/partition", F_OK) == 0
        let numbers = ProcessStatistics.text(isPartition ? "\(place)/../dev" : "\(place)/dev")
        return numbers.split(separator: "\n").first.map { String($0) }
    }

    private static func write(_ text: String, to path: String) -> Bool {
        let file = open(path, O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        let bytes = Array(text.utf8)
        return Glibc.write(file, bytes, bytes.count) == bytes.count
    }
}
