internal import CFuse3
internal import CofferVault
internal import Glibc

/// Attributes in libfuse's formats.
enum StatusRecord {
    /// How long the kernel may cache names and attributes, in seconds: in effect, forever.
    ///
    /// All changes go through the kernel, or it is notified of them.
    static let timeout: Double = 1e9

    /// How long the kernel may cache names of past states, in seconds, since states go.
    static let shortTimeout: Double = 1

    /// How long the kernel may cache a name, in seconds.
    ///
    /// A program may make the kernel believe something wrong of a past file (`SpoiltFiles`). So the kernel asks for each
    /// such file again.
    private static func nameTimeout(for attributes: Attributes, _ node: Node) -> Double {
        if node.isTrash { return 0 }
        guard node.mayBePast else { return timeout }
        if node.isAboveStates || node.item == Vault.rootNumber { return shortTimeout }
        return attributes.type == .regular ? 0 : timeout
    }

    /// How long the kernel may cache attributes, in seconds.
    ///
    /// A write drops set-user-id and set-group-id without the kernel's knowledge, so the kernel asks for the
    /// attributes of such a file each time.
    static func timeout(for attributes: Attributes, _ node: Node) -> Double {
        if node.isTrash { return 0 }
        if node.isAboveStates { return node.isHistory ? 0 : shortTimeout }
        return attributes.type == .regular && attributes.mode & (ModeBits.setUser | ModeBits.setGroup) != 0
            ? 0 : timeout
    }

    /// Node numbers are never reused, so one generation is enough, but for nodes of the past (`FileSystem.generation`).
    static let generation: UInt64 = 1

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
        entry.attr_timeout = timeout(for: attributes, node)
        entry.entry_timeout = nameTimeout(for: attributes, node)
        return entry
    }

    private static func time(_ nanoseconds: Int64) -> timespec {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return rest < 0
            ? timespec(tv_sec: Int(seconds - 1), tv_nsec: Int(rest + 1_000_000_000))
            : timespec(tv_sec: Int(seconds), tv_nsec: Int(rest))
    }

    /// Nanoseconds since 1970; times before 1678 and after 2261 become the first and the last representable
    /// time.
    static func nanoseconds(_ time: timespec) -> Int64 {
        let (seconds, overflows) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, exceeds) = seconds.addingReportingOverflow(Int64(time.tv_nsec))
        guard overflows || exceeds else { return sum }
        return time.tv_sec < 0 ? .min : .max
    }
}
