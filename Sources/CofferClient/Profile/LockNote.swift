/// The note that the holder of a profile's lock leaves in the lock file for other processes.
package struct LockNote: Sendable, Equatable {
    /// The process id of the holder.
    package let process: Int32
    /// The path where the vaults are mounted; empty if they are not.
    package let mountPoint: String
    /// The path of the mount's control socket; empty without a mount.
    package let socket: String
    /// Why the latest changes could not be stored when the mount ended; empty if they were, or if it has not
    /// ended.
    package let failure: String

    package init(process: Int32, mountPoint: String, socket: String, failure: String = "") {
        self.process = process
        self.mountPoint = mountPoint
        self.socket = socket
        self.failure = failure
    }

    /// Parses the lock file; nil if it is malformed.
    ///
    /// The path of the mount point may contain newlines. The lines are split by bytes, because a Swift string
    /// treats a carriage return at the end of the path and the newline after it as one character.
    init?(_ bytes: [UInt8]) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.count >= 4, let last = lines.last, last.isEmpty,
            let first = lines[0].split(separator: UInt8(ascii: " "), maxSplits: 1).first,
            let process = Int32(String(decoding: first, as: UTF8.self))
        else { return nil }
        let mountPoint = Array(lines[1..<lines.count - 2].joined(separator: [UInt8(ascii: "\n")]))
        self.init(
            process: process, mountPoint: String(decoding: mountPoint, as: UTF8.self),
            socket: String(decoding: lines[lines.count - 2], as: UTF8.self),
            failure: String(decoding: lines[0].dropFirst(first.count + 1), as: UTF8.self))
    }

    var text: String {
        let failure = failure.split(separator: "\n").joined(separator: " ")
        return "\(process)\(failure.isEmpty ? "" : " \(failure)")\n\(mountPoint)\n\(socket)\n"
    }

    var place: String { mountPoint.isEmpty ? "" : ", mounted at \(mountPoint)" }
}
