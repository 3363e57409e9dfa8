internal import BenchmarkReport
internal import Glibc

extension BenchmarkedSystem {
    /// A directory of the disk's own filesystem.
    static func plain(_ machine: Machine) -> BenchmarkedSystem {
        let parts = machine.disk.split(separator: ",").map { $0.drop { $0 == " " } }
        let type = parts.count > 1 ? String(parts[1]) : "plain"
        return BenchmarkedSystem(
            SystemDescription(
                id: type, role: .plain, version: "Linux \(machine.kernel)", options: "a directory"),
            mount: nil)
    }

    /// The FUSE filesystem that only passes requests on; nil if not built.
    static func passthrough() -> BenchmarkedSystem? {
        guard let binary = beside("fuse-ceiling-passthrough") else { return nil }
        return BenchmarkedSystem(
            SystemDescription(
                id: "fuse-passthrough", role: .ceiling, version: "this project's",
                options: "passes everything on to a directory; no encryption"),
            mount: { Command(binary, [$0.store, $0.mount]) })
    }

    /// The FUSE filesystem in memory; nil if not built.
    static func memory() -> BenchmarkedSystem? {
        guard let binary = beside("fuse-ceiling-memory") else { return nil }
        var system = BenchmarkedSystem(
            SystemDescription(
                id: "fuse-memory", role: .ceiling, version: "this project's",
                options: "keeps everything in memory; no disk, no encryption"),
            mount: { Command(binary, [$0.mount]) })
        system.keepsFiles = false
        return system
    }

    /// Finds a program that was built with this one; nil if it does not exist.
    private static func beside(_ name: String) -> String? {
        var path = [CChar](repeating: 0, count: 4_097)
        let count = readlink("/proc/self/exe", &path, 4_096)
        guard count > 0 else { return nil }
        let own = String(decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let other = own.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/" + name
        return access(other, X_OK) == 0 ? other : nil
    }
}
