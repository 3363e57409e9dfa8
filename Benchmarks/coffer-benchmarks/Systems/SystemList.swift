internal import BenchmarkReport

/// The available systems, and why others are left out.
struct SystemList {
    private(set) var systems: [BenchmarkedSystem] = []
    private(set) var omitted: [String] = []

    /// Finds the wanted systems; nil for all.
    init(coffer: String?, machine: Machine, wanted: [String]?) throws {
        if let coffer {
            try add("coffer", wanted) { try .coffer(coffer) }
        } else {
            omitted.append("coffer: no binary was given (--coffer)")
        }
        try add("gocryptfs", wanted) { try .gocryptfs(xchacha: false) }
        try add("gocryptfs-xchacha", wanted) { try .gocryptfs(xchacha: true) }
        try add("securefs", wanted) { try .securefs() }
        try add("encfs", wanted) { try .encfs() }
        try add("cryfs", wanted) { try .cryfs() }
        try add("rclone", wanted) { try .rclone() }
        let plain = BenchmarkedSystem.plain(machine)
        if wanted?.contains(where: { $0 == plain.id || $0 == "plain" }) ?? true { systems.append(plain) }
        try add("fuse-passthrough", wanted) { .passthrough() }
        try add("fuse-memory", wanted) { .memory() }
    }

    private mutating func add(
        _ id: String, _ wanted: [String]?, _ make: () throws -> BenchmarkedSystem?
    ) throws {
        if let wanted, !wanted.contains(id) { return }
        if let system = try make() {
            systems.append(system)
        } else {
            omitted.append("\(id): not installed")
        }
    }

    /// Adds a remark to the report about something that could not be measured.
    mutating func note(_ text: String) {
        omitted.append(text)
    }
}
