internal import Glibc

/// What a case needs of the process or of the filesystem.
package enum Requirement: String, Sendable, CaseIterable {
    /// The process runs as root.
    case root
    /// POSIX access control lists (system.posix_acl_access, system.posix_acl_default).
    case accessControlLists
    /// Extended attributes of the user class.
    case extendedAttributes
    /// Holes that lseek(2) finds and that take no blocks, and punching them.
    case holes
    /// name_to_handle_at(2) and open_by_handle_at(2).
    case fileHandles
    /// Device nodes that can be opened (a mount without nodev).
    case deviceNodes
    /// Making the kernel drop its caches (/proc/sys/vm/drop_caches).
    case droppedCaches
    /// Reads and writes past the page cache (O_DIRECT).
    case directAccess

    /// What this process cannot do here, whatever the filesystem gives.
    static func lacking() -> Set<Requirement> {
        var lacking: Set<Requirement> = []
        if geteuid() != 0 { lacking.insert(.root) }
        if access("/proc/sys/vm/drop_caches", W_OK) != 0 { lacking.insert(.droppedCaches) }
        return lacking
    }
}

/// Thrown by a case that finds that something it needs is missing.
struct Lacking: Error {
    let requirement: Requirement
}

/// One rule of POSIX or Linux, and the calls that show whether a filesystem keeps it.
package struct PosixCase: Sendable {
    /// The rule as a sentence.
    package let name: String
    /// What the case needs.
    package let requires: Set<Requirement>
    /// Makes the calls in an empty directory; throws if the rule does not hold.
    package let run: @Sendable (Sandbox) throws -> Void

    /// Wraps a body so that it runs on a thread of its own, with umask 022 whatever the process has.
    init(_ name: String, _ requires: Requirement..., body: @escaping @Sendable (Sandbox) throws -> Void) {
        self.name = name
        self.requires = Set(requires)
        run = { sandbox in try withUmask(0o022) { try body(sandbox) } }
    }
}

/// The outcome of one case.
package struct Outcome: Sendable {
    /// How a case ended.
    package enum Result: Sendable, Equatable {
        case passed
        /// Not run, because something that it needs is missing.
        case skipped(lacking: Set<Requirement>)
        case failed(reason: String)
    }

    /// The sentence of the case.
    package let name: String
    /// How the case ended.
    package let result: Result
    /// How long the case took.
    package let duration: Duration
}
