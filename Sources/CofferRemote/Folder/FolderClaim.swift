internal import CofferSystem
internal import Glibc

/// A claim on a free name: a file next to the temporary files, which only one process can create.
struct FolderClaim {
    /// The age from which a claim counts as abandoned, in nanoseconds: an hour.
    private static let age: Int64 = 3600 * 1_000_000_000
    /// The number and length of pauses while another process holds the claim: two seconds in all.
    private static let attemptCountMax = 200
    private static let pauseMicroseconds: UInt32 = 10_000

    private let directory: OpenDirectory
    private let name: String

    /// Makes a claim; waits while another process has a claim on the same name.
    ///
    /// - Throws: EEXIST once the name is taken; EBUSY if another claim stays.
    init(of object: String, in target: OpenDirectory, beside temporary: FolderTemporary) throws(SystemError) {
        // The claims of all directories of a vault are in one directory.
        let parent = target.path.split(separator: "/").suffix(2).joined(separator: ".")
        name = FolderTemporary.claimPrefix + String("\(parent).\(object)".suffix(240))
        directory = temporary.directory
        for _ in 0..<Self.attemptCountMax {
            do throws(SystemError) {
                let file = try directory.createFile(name)
                // The file gets contents, because rclone brings back an empty file that was removed.
                try? Self.holder(getpid()).withRawSpan { bytes throws(SystemError) in
                    try file.write(bytes, at: 0)
                }
                return
            } catch {
                guard error.isExisting else { throw error }
            }
            if try target.status(of: object) != nil { throw .existing(object) }
            let now = try temporary.file.status().modified
            if let other = try directory.status(of: name),
                now - other.modified > Self.age || isOfEndedProcess()
            {
                remove()
            }
            usleep(Self.pauseMicroseconds)
        }
        throw .busy(object)
    }

    /// The contents of a claim, which identify the boot of the machine, and the process.
    private static func holder(_ process: pid_t) -> [UInt8] {
        let path = "/proc/sys/kernel/random/boot_id"
        let start = (try? WholeFile.read(path, limit: 64)) ?? []
        return start.filter { $0 != UInt8(ascii: "\n") } + Array(" \(process)\n".utf8)
    }

    /// Whether the claim belongs to a process on this machine, since its last boot, that has ended.
    private func isOfEndedProcess() -> Bool {
        guard let file = try? directory.openFile(name), let status = try? file.status(),
            status.kind == .regular, status.byteCount <= 64
        else { return false }
        var bytes = [UInt8](repeating: 0, count: 64)
        let read = try? bytes.withMutableRawSpan { span throws(SystemError) in
            try file.read(into: &span, at: 0)
        }
        guard let count = read else { return false }
        let held = Array(bytes.prefix(count))
        let words = held.split(separator: UInt8(ascii: " "))
        guard words.count == 2, let process = pid_t(String(decoding: words[1].dropLast(), as: UTF8.self)),
            process > 0, held == Self.holder(process)
        else { return false }
        return kill(process, 0) != 0 && errno == ESRCH
    }

    /// Gives up the claim.
    func remove() {
        // If this fails, the claim counts as abandoned after a while.
        _ = try? directory.removeFile(name)
    }
}
