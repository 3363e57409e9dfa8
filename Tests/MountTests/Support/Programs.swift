import Foundation
import Testing

/// The programs that `swift build` built next to the tests.
enum Programs {
    static func coffer() throws -> String {
        try find("coffer", override: "COFFER_BINARY")
    }

    static func workload() throws -> String {
        try find("filesystem-workload", override: "FILESYSTEM_WORKLOAD_BINARY")
    }

    private static func find(_ name: String, override: String) throws -> String {
        if let path = ProcessInfo.processInfo.environment[override], !path.isEmpty { return path }
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = "\((tests as NSString).deletingLastPathComponent)/\(name)"
        try #require(
            FileManager.default.isExecutableFile(atPath: path),
            "\(path) is missing; run swift build, or say where it is with \(override)")
        return path
    }
}

/// What this machine allows tests to do.
enum Machine {
    /// Whether COFFER_SKIP_MOUNT=1 leaves out the tests that need FUSE; otherwise they fail without FUSE.
    static let skipsMounts = ProcessInfo.processInfo.environment["COFFER_SKIP_MOUNT"] == "1"

    static let isRoot = geteuid() == 0

    /// Whether tests can make an ext4 in a file, and mount it.
    static var hasLoopDevices: Bool {
        isRoot && access("/dev/loop-control", R_OK | W_OK) == 0 && has("mkfs.ext4") && has("mount")
    }

    /// Whether users other than root can mount here.
    static var letsUsersMount: Bool {
        var status = stat()
        return stat("/dev/fuse", &status) == 0 && status.st_mode & 0o006 == 0o006 && has("fusermount3")
    }

    /// Whether a test can have a mount namespace of its own.
    static var hasMountNamespaces: Bool { isRoot && has("unshare") }

    static func has(_ program: String) -> Bool { path(program) != nil }

    /// Where a program of the system is.
    static func path(_ program: String) -> String? {
        ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map { "\($0)/\(program)" }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }

    static func requireFUSE() throws {
        try #require(
            access("/dev/fuse", F_OK) == 0,
            "/dev/fuse is missing: load the module fuse, or set COFFER_SKIP_MOUNT=1 to leave these tests out")
    }
}

/// Tests that mount the real program.
///
/// They run one after the other in each process (Tests/run.py starts two), because they start processes that need the
/// machine for themselves.
@Suite(
    .serialized,
    .enabled(if: !Machine.skipsMounts, "COFFER_SKIP_MOUNT=1 says to leave out what needs FUSE"))
enum MountTests {}
