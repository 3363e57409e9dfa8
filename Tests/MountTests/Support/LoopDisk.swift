import Foundation
import Testing

/// A small ext4 in a file, mounted through a loop device.
enum LoopDisk {
    /// Runs a body with the disk's directory.
    static func with(megabytes: Int, _ body: (String) throws -> Void) throws {
        var template = Array("\(NSTemporaryDirectory())/coffer-disk-XXXXXX".utf8CString)
        let base = String(cString: try #require(mkdtemp(&template)))
        let (image, point) = ("\(base)/image", "\(base)/disk")
        defer { try? FileManager.default.removeItem(atPath: base) }
        try Files.write([], to: image)
        try Files.check(truncate(image, megabytes << 20), image)
        try Files.makeDirectory(point)
        try program("mkfs.ext4", "-q", "-F", "-m", "0", image).succeed()
        try program("mount", "-o", "loop", image, point).succeed()
        defer { _ = Processes.waitUntil { umount2(point, 0) == 0 || errno == EINVAL } }
        try body(point)
    }

    /// Makes the disk of a directory read-only (“ro”) or writable (“rw”).
    ///
    /// The kernel closes the files of a killed process some time after the process is gone.
    static func remount(_ point: String, _ mode: String) throws {
        let mount = try program("mount", "-o", "remount,\(mode)", point)
        if Processes.waitUntil({ (try? mount.run().status) == 0 }) { return }
        try mount.succeed()
    }

    private static func program(_ name: String, _ words: String...) throws -> Command {
        let directory = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].first {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(name)")
        }
        return Command("\(try #require(directory))/\(name)", words)
    }
}
