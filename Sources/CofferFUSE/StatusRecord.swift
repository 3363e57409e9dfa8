internal import CFuse3
internal import CofferVault
internal import Glibc

/// Attributes in the forms that libfuse takes.
enum StatusRecord {
    /// Seconds for which the kernel may keep names and attributes: all changes come through it, or are
    /// announced to it.
    static let timeout: Double = 1e9

    /// Seconds for which attributes may be kept.
    ///
    /// A write takes set-user-id and set-group-id away behind the kernel's back, so it asks for those of
    /// such a file each time.
    static func timeout(for attributes: Attributes) -> Double {
        attributes.type == .regular && attributes.mode & (ModeBits.setUser | ModeBits.setGroup) != 0
            ? 0 : timeout
    }

    /// Numbers of nodes are never used twice, so one generation does for all.
    private static let generation: UInt64 = 1

    static func make(_ attributes: Attributes, _ node: Node) -> stat {
        var status = stat()
        status.st_ino = UInt(node.number)
        status.st_mode = attributes.mode
        status.st_nlink = UInt(attributes.links)
        status.st_uid = attributes.user
        status.st_gid = attributes.group
        status.st_size = Int(attributes.size)
        status.st_rdev = UInt(attributes.device)
        status.st_blksize = 4096
        status.st_blocks = Int((attributes.allocated + 511) / 512)
        status.st_atim = time(attributes.accessed)
        status.st_mtim = time(attributes.modified)
        status.st_ctim = time(attributes.changed)
        return status
    }

    static func entry(_ attributes: Attributes, _ node: Node) -> fuse_entry_param {
        var entry = fuse_entry_param()
        entry.ino = node.number
        entry.generation = generation
        entry.attr = make(attributes, node)
        entry.attr_timeout = timeout(for: attributes)
        entry.entry_timeout = timeout
        return entry
    }

    private static func time(_ nanoseconds: Int64) -> timespec {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return rest < 0
            ? timespec(tv_sec: Int(seconds - 1), tv_nsec: Int(rest + 1_000_000_000))
            : timespec(tv_sec: Int(seconds), tv_nsec: Int(rest))
    }

    /// Nanoseconds since 1970; times before 1678 and after 2261 become the first and last that can be kept.
    static func nanoseconds(_ time: timespec) -> Int64 {
        let (seconds, overflows) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, exceeds) = seconds.addingReportingOverflow(Int64(time.tv_nsec))
        guard overflows || exceeds else { return sum }
        return time.tv_sec < 0 ? .min : .max
    }
}
