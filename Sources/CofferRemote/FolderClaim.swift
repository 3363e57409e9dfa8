internal import CofferSystem
internal import Glibc

/// A claim on a name that is free: a file beside the temporary ones that only one can make.
struct FolderClaim {
    /// How old a claim must be to be taken for abandoned, in nanoseconds: an hour.
    private static let age: Int64 = 3600 * 1_000_000_000
    /// How often, and how long, others are waited for: two seconds in all.
    private static let attemptCountMax = 200
    private static let pauseMicroseconds: UInt32 = 10_000

    private let directory: OpenDirectory
    private let name: String

    /// Makes a claim; waits for others who have one on the same name.
    ///
    /// - Throws: EEXIST once the name is taken; EBUSY where a claim stays.
    init(of object: String, in target: OpenDirectory, beside temporary: FolderTemporary) throws(SystemError) {
        // Claims of all directories of a vault lie side by side.
        let parent = target.path.split(separator: "/").suffix(2).joined(separator: ".")
        name = FolderTemporary.claimPrefix + String("\(parent).\(object)".suffix(240))
        directory = temporary.directory
        for _ in 0..<Self.attemptCountMax {
            do throws(SystemError) {
                let file = try directory.createFile(name)
                // rclone brings a file back that was removed with nothing in it.
                try? unsafe file.write([1].span.bytes, at: 0)
                return
            } catch {
                guard error.isExisting else { throw error }
            }
            if try target.status(of: object) != nil { throw .existing(object) }
            let now = try temporary.file.status().modified
            if let other = try directory.status(of: name), now - other.modified > Self.age { remove() }
            usleep(Self.pauseMicroseconds)
        }
        throw .busy(object)
    }

    /// Gives the claim back.
    func remove() {
        // One that stays is taken for abandoned some day.
        _ = try? directory.removeFile(name)
    }
}
