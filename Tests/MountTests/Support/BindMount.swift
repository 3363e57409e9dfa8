import Foundation
import Testing

extension MountedProfile {
    /// Runs `body` with a bind mount of the vault, at a path that it gets; needs root.
    func withBindMount(_ body: (String) throws -> Void) throws {
        let other = "\(base)/other"
        try Files.makeDirectory(other)
        let mount = try #require(Machine.path("mount"))
        try Command(mount, ["--bind", vault, other]).succeed()
        defer { umount2(other, Int32(MNT_DETACH)) }
        try body(other)
    }
}
