internal import CofferClient
internal import CofferCrypto
internal import CofferSystem
internal import Glibc

/// The directory for all files of `coffer bench`, and the size of the large one.
struct BenchWorkplace {
    let path: String
    /// The size of the large file, in bytes.
    let size: Int

    /// Space that stays free for other programs, and for the data of a vault besides contents, in bytes.
    private static let reserve = 64 << 20
    /// The smallest meaningful size, in bytes.
    private static let sizeMin = 4 << 20

    var profile: String { "\(path)/profile" }
    var mountPoint: String { "\(path)/mount" }

    /// Checks that files can be created in a directory, and how large they may be; leaves nothing behind.
    ///
    /// - Parameter size: The maximum size of the large file, in bytes.
    /// - Throws: `.system` with ENOSPC if there is too little space.
    init(in directory: String, size: Int) throws(ClientError) {
        let resolved = try systemCalls { () throws(SystemError) in try Directory.resolve(directory) }
        path = "\(resolved)/coffer-bench-\(String(Random.number(), radix: 16))"
        let space = try systemCalls { () throws(SystemError) in
            try POSIXStorageDirectory(path: resolved).space()
        }
        // The file on the disk, the one in the vault, and space that is not freed yet.
        let room = min(size, (space.available - Self.reserve) / 3) & ~(BenchTransfer.pieceByteCount - 1)
        self.size = room
        try make()
        remove()
        guard room >= Self.sizeMin else {
            throw .system(SystemError("write", code: ENOSPC, on: directory))
        }
    }

    func make() throws(ClientError) {
        _ = try systemCalls { () throws(SystemError) in try Directory.make(path) }
    }

    /// Removes all files; the mount must have ended.
    func remove() {
        try? Directory.removeAll(path)
    }
}
