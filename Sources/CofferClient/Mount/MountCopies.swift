internal import CCofferSystem
internal import CofferSystem
internal import Glibc
internal import Synchronization

/// The copies of a mount: bind mounts, and mounts in other namespaces (containers, services, unshare(1)).
///
/// The kernel keeps a filesystem as long as there is a copy, used or not, and does not tell the process that
/// unmounts the original. Copies are found through proc(5), without touching the filesystems. Processes of
/// other users that this user may not inspect are left out.
struct MountCopies {
    /// A process that sees a copy.
    struct Holder: Equatable {
        let process: Int32
        /// The name that ps(1) shows, without unprintable characters.
        let name: String
        /// The path of the copy, as the process sees it.
        let path: String
        /// Whether the copy is in this mount namespace.
        let isHere: Bool
        /// Whether the process has a file of it open or mapped, or its working or root directory in it.
        let isUsing: Bool
    }

    /// How long to wait for a copy to be synced, in nanoseconds.
    private static let syncTimeMax: Int64 = 30_000_000_000
    /// The number of threads that sync a copy.
    private static let syncs = Atomic(0)

    /// Whether no thread syncs a copy any more, which nothing can end.
    static var areSynced: Bool { syncs.load(ordering: .relaxed) == 0 }

    /// The paths of bind mounts in this mount namespace.
    let paths: [String]
    /// Ordered by process id; in this namespace, only processes that use a bind mount.
    let holders: [Holder]
    private let device: String

    /// Finds the copies.
    ///
    /// - Parameters:
    ///   - device: The filesystem's device number, as in mountinfo.
    ///   - mount: The id of the original mount; nil if it is already unmounted.
    ///   - server: The process that serves the mount, which does not count as a user.
    init(of device: String, besides mount: String? = nil, server: Int32? = nil) {
        self.device = device
        let here = (try? MountTable.read())?.mounts.filter { $0.device == device } ?? []
        paths = here.filter { $0.id != mount }.map(\.path)
        let processes = ((try? Directory.names(in: "/proc")) ?? []).compactMap { Int32($0) }
        holders = processes.sorted().compactMap { process in
            // A process that has ended holds nothing.
            guard let mounts = (try? MountTable.read(of: process))?.mounts else { return nil }
            let copies = mounts.filter { $0.device == device && $0.id != mount }
            guard let first = copies.first else { return nil }
            let isHere = copies.contains { copy in here.contains { $0.id == copy.id } }
            let isUsing =
                process != getpid() && process != server && Self.isUsing(process, copies, device)
            // Every process of this namespace sees its mounts.
            if isHere, !isUsing { return nil }
            return Holder(
                process: process, name: Self.name(of: process), path: first.path, isHere: isHere,
                isUsing: isUsing)
        }
    }

    /// Flushes the kernel's cached writes by syncfs(2), through the first copy that this user can reach.
    ///
    /// All copies are one filesystem. Other processes choose what the paths lead through, and may never
    /// answer; this gives up after 30 s.
    ///
    /// - Returns: Why something could not be written, or no copy be reached; nil if all was.
    @discardableResult
    func sync() -> SystemError? {
        let numbers = device.split(separator: ":").compactMap { UInt32($0) }
        guard numbers.count == 2, !(paths.isEmpty && holders.isEmpty) else { return Self.failure(ENOENT) }
        let ways =
            paths.map { ("/", $0) }
            + holders.filter { !$0.isHere }.map { ("/proc/\($0.process)/root", $0.path) }
        let result = Condition<Int32?>(nil)
        Self.syncs.add(1, ordering: .relaxed)
        do throws(SystemError) {
            try Thread.startDetached("coffer-sync") {
                var code: Int32 = 0
                for (root, path) in ways {
                    code = unsafe coffer_sync_mounted_file_system(root, path, numbers[0], numbers[1])
                    if code == 0 || Self.storageErrors.contains(-code) { break }
                }
                // First, as whoever gets the result looks at this next.
                Self.syncs.subtract(1, ordering: .relaxed)
                result.update { [code] in $0 = -code }
            }
        } catch {
            // Without a thread, the wait could not be ended.
            Self.syncs.subtract(1, ordering: .relaxed)
            return error
        }
        let code = result.wait(nanoseconds: Self.syncTimeMax) { $0 } ?? ETIMEDOUT
        return code == 0 ? nil : Self.failure(code)
    }

    /// Errors that tell of pages that could not be written; all others, that a copy cannot be reached.
    private static let storageErrors: Set<Int32> = [EIO, ENOSPC, EDQUOT, EROFS]

    /// Whether an error tells of pages that could not be written.
    static func isOfStorage(_ error: SystemError) -> Bool { storageErrors.contains(error.code) }

    private static func failure(_ code: Int32) -> SystemError {
        SystemError("syncfs", code: code, on: "a copy of the mount")
    }

    /// The places of the copies as text; empty if there are none.
    ///
    /// Every process of a container sees its mounts; only those that use a copy are named.
    var places: String {
        let elsewhere = holders.filter { !$0.isHere }
        let users = elsewhere.filter(\.isUsing)
        let shown = paths.prefix(5).joined(separator: ", ")
        let more = paths.count > 5 ? " and \(paths.count - 5) more places" : ""
        return [
            paths.isEmpty ? "" : "at \(shown)\(more)",
            elsewhere.isEmpty
                ? ""
                : "in other mount namespaces" + (users.isEmpty ? "" : ", used there by \(Self.list(users))"),
        ].filter { !$0.isEmpty }.joined(separator: " and ")
    }

    /// Lists some of the processes as text.
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
        // Device numbers in maps are hexadecimal.
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
