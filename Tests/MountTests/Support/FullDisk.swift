import Foundation
import Testing

/// A disk without a free block.
enum FullDisk {
    /// Fills the disk to its last block, the profile's reserve included unless it is to be kept.
    ///
    /// The file system returns blocks some time after they were freed, and a vault may use space that was
    /// free earlier: the disk is full once nothing could be written for a while.
    static func fill(_ disk: String, _ profile: MountedProfile, keepsReserve: Bool = false) throws {
        let ballast = "\(disk)/ballast"
        let file = open(ballast, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        try Files.check(file, ballast)
        defer { close(file) }
        let block = [UInt8](repeating: 7, count: 4096)
        var quiet = 0
        let isFull = Processes.waitUntil {
            var isQuiet = true
            while write(file, block, block.count) > 0 { isQuiet = false }
            #expect(fsync(file) == 0 || errno == ENOSPC)
            if !keepsReserve, unlink("\(profile.home)/reserve") == 0 { isQuiet = false }
            quiet = isQuiet ? quiet + 1 : 0
            return quiet >= 25
        }
        try #require(isFull, "the disk did not get full")
    }

    /// Takes all space that the file system gives at once, by writing to a file.
    static func fill(by ballast: Int32) -> Bool {
        let block = [UInt8](repeating: 7, count: 1 << 16)
        return Processes.waitUntil {
            while write(ballast, block, block.count) > 0 {}
            return errno == ENOSPC
        }
    }

    /// Makes files, fills the disk, and removes some of the files, which the mount then has no room to store.
    static func remove(_ removed: Int, of count: Int, on disk: String, _ profile: MountedProfile) throws {
        profile.expectsProblems = true
        for index in 0..<count { try Files.write("\(index)", to: profile.path("\(index)")) }
        try profile.remount()
        try fill(disk, profile)
        for index in 0..<removed { try Files.remove(profile.path("\(index)")) }
    }

    /// The bytes that are free on the disk of a directory.
    static func freeBytes(_ disk: String) -> Int {
        var space = statvfs()
        return statvfs(disk, &space) == 0 ? Int(space.f_bavail) * Int(space.f_frsize) : 0
    }
}
