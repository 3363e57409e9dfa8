internal import CCofferSystem
internal import CofferFUSE
internal import CofferSystem
internal import FoundationEssentials
internal import Glibc

/// What a process leaves to the one that takes its place when a profile is locked or unlocked.
///
/// The process executes its own program again, and keeps its number and these descriptors. Without `key`, nothing here
/// is secret: neither names nor contents.
package struct Handover: Codable, Sendable {
    /// The connection to the kernel.
    var connection: Int32
    /// The profile's lock.
    var lock: Int32
    /// The directory under the mount; nil on an autofs trigger.
    var directory: Int32?
    /// The control socket.
    var socket: Int32
    /// The connection of the command that is to be answered when the next process serves; nil if there is none.
    var client: Int32?
    /// The reading end of a pipe with the profile's key; nil if the profile is to be locked.
    var key: Int32?
    let socketPath: String
    let mountPoint: String
    /// The filesystem's device number, as in mountinfo; nil if it is not known.
    let device: String?
    var state: ConnectionState
    var inUse: ItemsInUse
    /// When the profile was locked, in nanoseconds since 1970.
    var locked: Int64
    /// Whether everything is stored that programs have written, as far as it is known.
    var isStored: Bool
    /// Why the profile could not be unlocked, for the command that is answered next; nil if it could.
    var failure: Failure?

    /// The failure of a command.
    struct Failure: Codable, Sendable {
        let code: Int32
        let text: String

        init(_ error: ClientError) { (code, text) = (error.exitCode, "\(error)") }
    }

    /// Whether the next process serves the vaults.
    package var unlocks: Bool { key != nil }

    /// Where the vaults are mounted.
    package var point: MountPoint { MountPoint(path: mountPoint, isAutomount: directory == nil) }

    private var descriptors: [Int32] {
        [connection, lock, socket] + [directory, client, key].compactMap { $0 }
    }

    /// Closes the descriptors that the mount has copies of.
    func close() {
        for descriptor in [connection, lock, socket] + [directory].compactMap({ $0 }) {
            Glibc.close(descriptor)
        }
    }
}

// From process to process.
extension Handover {
    /// The largest size of the file that takes it to the next process.
    private static let byteCountMax = 1 << 30

    /// Reads what the previous process left.
    package init(from descriptor: Int32) throws(ClientError) {
        let file = Descriptor(owning: descriptor)
        lseek(file.number, 0, SEEK_SET)
        let bytes = try systemCalls { () throws(SystemError) in
            try WholeFile.read(descriptor: file.number, limit: Self.byteCountMax, subject: "handover")
        }
        self = try ControlCoding.decode(Handover.self, bytes)
        // Only execve(2) by this program may pass them on, not a program that it starts.
        for number in descriptors { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
    }

    /// Replaces this process by a new one, which begins with nothing in memory.
    ///
    /// - Parameter arguments: The new process's arguments, for the number of a descriptor that `init(from:)` reads.
    /// - Returns: Why that failed; a success does not return.
    package func replaceProcess(_ arguments: (Int32) -> [String]) -> ClientError {
        do throws(ClientError) {
            let bytes = try ControlCoding.encode(self)
            return try systemCalls { () throws(SystemError) in
                let file = try MemoryFile.make("coffer-handover")
                try WholeFile.writeAll(bytes, to: file.number, subject: "handover")
                return .system(
                    ChildProcess.replaceThisProcess(
                        arguments(file.number), keeping: descriptors + [file.number]))
            }
        } catch {
            return error
        }
    }

    // MARK: Answering

    /// Answers the command that waits, and forgets it.
    mutating func answerClient() {
        guard let number = client else { return }
        let connection = Descriptor(owning: number)
        client = nil
        defer { failure = nil }
        let answer: ControlResponse<Done> =
            if let failure { .failure(code: failure.code, message: failure.text) } else { .answer(Done()) }
        guard let bytes = try? ControlCoding.encode(answer) else { return }
        // A command that has ended needs no answer.
        try? WholeFile.writeAll(bytes, to: connection.number, subject: "control socket")
    }

    /// Returns what locks the profile again after it could not be opened.
    package func lockedAgain(because error: ClientError) -> Handover {
        var next = self
        next.key = nil
        next.failure = Failure(error)
        return next
    }

    /// Opens the profile with the key in the pipe, which is then empty.
    ///
    /// The profile's lock is taken over as a copy: if anything fails, this process still has it.
    package func openProfile(_ location: ProfileLocation) throws(ClientError) -> Profile {
        guard let key else { throw .locking(.locked) }
        let lock = try systemCalls { () throws(SystemError) in try Descriptor.copy(of: self.lock) }
        return try Profile.open(location, FileLock(owning: lock), key: try KeyPipe.read(key))
    }
}
