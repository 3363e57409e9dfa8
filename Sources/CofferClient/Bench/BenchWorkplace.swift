internal import CofferCrypto
internal import CofferSystem
internal import Glibc

/// A directory of its own for all files of `coffer bench`, and how large they may be.
struct BenchWorkplace {
    let path: String
    /// Bytes of the large file.
    let size: Int

    /// Room that is left to others, and to what a vault needs beside contents.
    private static let reserve = 64 << 20
    /// With less, a figure would say nothing.
    private static let sizeMin = 4 << 20

    var profile: String { "\(path)/profile" }
    var mountPoint: String { "\(path)/mount" }

    /// Finds out whether files can be made in a directory, and how large; leaves nothing behind.
    ///
    /// - Parameter size: The most bytes of the large file.
    init(in directory: String, size: Int) throws(ProfileError) {
        let resolved = try systemCalls { () throws(SystemError) in try Directory.resolve(directory) }
        path = "\(resolved)/coffer-bench-\(String(Random.number(), radix: 16))"
        let space = try systemCalls { () throws(SystemError) in
            try POSIXStorageDirectory(path: resolved).space()
        }
        // The file on the disk, its successor in the vault, and bytes that are not given back yet.
        let room = min(size, (space.available - Self.reserve) / 3) & ~(BenchTransfer.pieceByteCount - 1)
        self.size = room
        try make()
        remove()
        guard room >= Self.sizeMin else {
            throw .system(SystemError("write", code: ENOSPC, on: directory))
        }
    }

    func make() throws(ProfileError) {
        _ = try systemCalls { () throws(SystemError) in try Directory.make(path) }
    }

    /// Removes all that was made; the mount must be gone.
    func remove() {
        try? Directory.removeAll(path)
    }
}
