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

    /// What this process cannot do here, whatever the filesystem gives.
    static func lacking() -> Set<Requirement> {
        var lacking: Set<Requirement> = []
        if geteuid() != 0 { lacking.insert(.root) }
        if access("/proc/sys/vm/drop_caches", W_OK) != 0 { lacking.insert(.droppedCaches) }
        return lacking
    }
}

/// One rule of POSIX or Linux, and the calls that show whether a filesystem keeps it.
package struct PosixCase: Sendable {
    /// The rule as a sentence.
    package let name: String
    /// What must be there for the case to make sense.
    package let requires: Set<Requirement>
    /// Does the calls in an empty directory; throws when the rule does not hold.
    package let run: @Sendable (Sandbox) throws -> Void

    /// Wraps a body so that it runs on a thread of its own, with umask 022 whatever the process has.
    init(_ name: String, _ requires: Requirement..., body: @escaping @Sendable (Sandbox) throws -> Void) {
        self.name = name
        self.requires = Set(requires)
        run = { sandbox in try withUmask(0o022) { try body(sandbox) } }
    }
}

/// What became of one case.
package struct Outcome: Sendable {
    /// How a case ended.
    package enum Result: Sendable, Equatable {
        case passed
        /// Not run, for something it needs is not there.
        case skipped(lacking: Set<Requirement>)
        case failed(reason: String)
    }

    /// The sentence of the case.
    package let name: String
    /// How the case ended.
    package let result: Result
    /// How long it took.
    package let duration: Duration
}
