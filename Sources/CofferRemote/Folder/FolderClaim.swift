internal import CofferSystem
internal import Glibc

/// A claim on a free name: a file next to the temporary files, which only one process can create.
struct FolderClaim {
    /// The age from which a claim counts as abandoned, in nanoseconds: an hour.
    private static let age: Int64 = 3600 * 1_000_000_000
    /// The number and length of pauses while another process holds the claim: two seconds in all.
    private static let attemptCountMax = 200
    private static let pauseMicroseconds: UInt32 = 10_000

    private let directory: OpenDirectory
    private let name: String
    /// What the file has.
    private let contents = Array("\(ClaimHolder().text)\n".utf8)

    /// Makes a claim; waits while another process has a claim on the same name.
    ///
    /// - Throws: EEXIST once the name is taken; EBUSY if another claim stays.
    init(of object: String, in target: OpenDirectory, beside temporary: FolderTemporary) throws(SystemError) {
        // The claims of all directories of a vault are in one directory.
        let parent = target.path.split(separator: "/").suffix(2).joined(separator: ".")
        name = FolderTemporary.claimPrefix + String("\(parent).\(object)".suffix(240))
        directory = temporary.directory
        for _ in 0..<Self.attemptCountMax {
            do throws(SystemError) {
                let file = try directory.createFile(name)
                // The file gets contents, because rclone brings back an empty file that was removed.
                try? contents.withRawSpan { bytes throws(SystemError) in try file.write(bytes, at: 0) }
                return
            } catch {
                guard error.isExisting else { throw error }
            }
            if try target.status(of: object) != nil { throw .existing(object) }
            let now = try temporary.file.status().modified
            if let other = Self.found(name, in: directory), other.isAbandoned(at: now) {
                Self.removeAbandoned(name, other, in: directory)
            }
            usleep(Self.pauseMicroseconds)
        }
        throw .busy(object)
    }

    /// A claim that is there.
    struct Found: Equatable {
        let modified: Int64
        /// Empty if it cannot be read, as another user's may be.
        let contents: [UInt8]

        func isAbandoned(at now: Int64) -> Bool {
            now - modified > FolderClaim.age
                || ClaimHolder.hasEnded(String(decoding: contents, as: UTF8.self).prefix { $0 != "\n" })
        }
    }

    /// Looks at a claim; nil if there is none.
    static func found(_ name: String, in directory: OpenDirectory) -> Found? {
        guard let status = try? directory.status(of: name) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 256)
        var count = 0
        if status.kind == .regular, let file = try? directory.openFile(name) {
            let read = try? bytes.withMutableRawSpan { span throws(SystemError) in
                try file.read(into: &span, at: 0)
            }
            count = read ?? 0
        }
        return Found(modified: status.modified, contents: Array(bytes.prefix(count)))
    }

    /// Takes an abandoned claim out of the way.
    ///
    /// Another process may have removed it already, and taken the claim. So the claim is renamed first, to a name
    /// that no other process uses, and goes back if it turns out to be another one.
    static func removeAbandoned(_ name: String, _ other: Found, in directory: OpenDirectory) {
        let aside = FolderTemporary.claimPrefix + String(UInt64.random(in: 0 ... .max), radix: 16)
        do throws(SystemError) {
            try directory.rename(name, to: directory, aside)
            if let got = found(aside, in: directory), got != other {
                try directory.rename(aside, to: directory, name)
            } else {
                try directory.removeFile(aside)
            }
        } catch {
            // Another process was faster, or a later cleanup removes it.
        }
    }

    /// Gives up the claim, unless others took it for abandoned, and have it.
    func remove() {
        if let found = Self.found(name, in: directory), ![[], contents].contains(found.contents) { return }
        // If this fails, the claim counts as abandoned after a while.
        _ = try? directory.removeFile(name)
    }
}
