internal import CCofferSystem
internal import CofferSystem
internal import Glibc

/// The copies of a mount that processes in other mount namespaces have: containers, services, unshare(1).
///
/// The kernel keeps a file system for as long as there is a copy, whether anybody uses it or not, and does not say
/// so to whoever unmounts the original. Found by proc(5), without touching the file systems themselves; what this
/// user may not read of other users' processes is left out.
struct MountCopies {
    /// A process that sees a copy.
    struct Holder: Equatable {
        let process: Int32
        /// As ps(1) shows it, without what a terminal would not print.
        let name: String
        /// Where the copy is, as the process sees it.
        let path: String
        /// Whether it has something of it open or mapped, or is at home in it.
        let isUsing: Bool
    }

    /// By process.
    let holders: [Holder]

    /// Looks for copies.
    ///
    /// - Parameter device: The file system, as mountinfo names it.
    init(of device: String) {
        let own = (try? MountTable.read())?.mounts.filter { $0.device == device }.map(\.id) ?? []
        let processes = ((try? Directory.names(in: "/proc")) ?? []).compactMap { Int32($0) }
        holders = processes.sorted().compactMap { process in
            // Who ends meanwhile has nothing any more.
            guard let mounts = (try? MountTable.read(of: process))?.mounts else { return nil }
            let copies = mounts.filter { $0.device == device && !own.contains($0.id) }
            guard let first = copies.first else { return nil }
            return Holder(
                process: process, name: Self.name(of: process), path: first.path,
                isUsing: Self.isUsing(process, copies, device))
        }
    }

    /// Has the kernel hand over what programs have written.
    ///
    /// As syncfs(2), through the first copy that this user can reach: all of them are one file system.
    func sync() {
        for holder in holders {
            let path = "/proc/\(holder.process)/root\(holder.path)"
            guard let directory = try? Descriptor.open(path, [.readOnly, .directory]) else { continue }
            if coffer_sync_file_system(directory.number) == 0 { return }
        }
    }

    /// Some of the processes, for people to recognize what they belong to.
    static func list(_ holders: [Holder]) -> String {
        let shown = holders.prefix(5).map { "\($0.name) (process \($0.process))" }
        let more = holders.count - shown.count
        return shown.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
    }

    // MARK: proc(5)

    private static func name(of process: Int32) -> String {
        let bytes = (try? WholeFile.read("/proc/\(process)/comm", limit: 4096)) ?? []
        return String(decoding: bytes.filter { (0x20..<0x7f).contains($0) }, as: UTF8.self)
    }

    private static func isUsing(_ process: Int32, _ copies: [MountTable.Mount], _ device: String) -> Bool {
        let proc = "/proc/\(process)"
        for link in ["cwd", "root"] {
            guard let target = Directory.linkTarget("\(proc)/\(link)") else { continue }
            if copies.contains(where: { target == $0.path || target.hasPrefix("\($0.path)/") }) {
                return true
            }
        }
        for number in (try? Directory.names(in: "\(proc)/fdinfo")) ?? [] {
            guard let lines = try? WholeFile.read("\(proc)/fdinfo/\(number)", limit: 1 << 20) else {
                continue
            }
            let mount = Self.fields(lines).first { $0.first == "mnt_id:" }?.dropFirst().first
            if copies.contains(where: { $0.id == mount }) { return true }
        }
        // Device numbers are hexadecimal there.
        let numbers = device.split(separator: ":").compactMap { UInt32($0) }
        let mapped = (try? WholeFile.read("\(proc)/maps", limit: 64 << 20)) ?? []
        return Self.fields(mapped).contains { line in
            line.count > 3 && line[3].split(separator: ":").map { UInt32($0, radix: 16) } == numbers
        }
    }

    /// The words of each line.
    private static func fields(_ bytes: [UInt8]) -> [[String]] {
        bytes.split(separator: UInt8(ascii: "\n")).map { line in
            line.split(whereSeparator: { $0 == 0x20 || $0 == 0x09 }).prefix(5).map {
                String(decoding: $0, as: UTF8.self)
            }
        }
    }
}
