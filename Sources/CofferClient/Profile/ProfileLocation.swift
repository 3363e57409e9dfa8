package import CofferSystem
internal import Glibc

/// The directory of a profile, and the paths of its files.
package struct ProfileLocation: Sendable {
    /// The profile's directory; always absolute, because a mount in the background has another working
    /// directory.
    package let path: String

    /// - Parameter path: The directory; a relative path starts at the working directory.
    package init(path: String) {
        self.path = Directory.absolute(path)
    }

    /// Returns the default location; nil without a home directory.
    ///
    /// That is `$COFFER_HOME`, otherwise `$XDG_DATA_HOME/coffer`, otherwise `~/.local/share/coffer`.
    package static func standard(_ environment: (String) -> String?) -> ProfileLocation? {
        if let path = environment("COFFER_HOME"), !path.isEmpty { return ProfileLocation(path: path) }
        if let data = environment("XDG_DATA_HOME"), data.hasPrefix("/") {
            return ProfileLocation(path: "\(data)/coffer")
        }
        guard let home = environment("HOME"), !home.isEmpty else { return nil }
        return ProfileLocation(path: "\(home)/.local/share/coffer")
    }

    var profile: String { "\(path)/profile" }
    var lock: String { "\(path)/lock" }
    var attempts: String { "\(path)/attempts" }
    var vaults: String { "\(path)/vaults" }

    /// Whether the profile file exists.
    package var exists: Bool { Directory.exists(profile) }

    /// How long to wait for an exiting holder of the lock, in nanoseconds: until its mount is aborted, and in
    /// total.
    private static let endingTime: Int64 = 1_000_000_000, endingTimeMax: Int64 = 2_000_000_000

    /// Takes the profile's lock for this process.
    ///
    /// A killed process holds the lock until the kernel has closed its files; this waits up to two seconds
    /// for that. After one second it aborts the process's mount, which may be what the kernel waits for.
    ///
    /// - Throws: `.noProfile`, `.locked`.
    package func takeLock() throws(ClientError) -> FileLock {
        guard exists else { throw .profile(.noProfile(path: path)) }
        let start = Clock.monotonic
        var hasAborted = false
        while true {
            let taken = try systemCalls { () throws(SystemError) in try FileLock.take(lock) }
            if let taken { return taken }
            let note = lockNote
            let time = Clock.monotonic - start
            guard let note, ProcessState.isEnding(note.process), time < Self.endingTimeMax else {
                throw .profile(.locked(note))
            }
            if time > Self.endingTime, !hasAborted {
                hasAborted = true
                KilledMount.abort(note)
            }
            usleep(10_000)
        }
    }

    /// The note of the current or last holder of the lock.
    ///
    /// On a read-only filesystem, the record of the mount stands for it.
    package var lockNote: LockNote? {
        if isOnReadOnlyDisk { return MountRecord.read(of: self)?.note }
        guard let bytes = try? WholeFile.read(lock, limit: 16_384) else { return nil }
        return LockNote(bytes)
    }

    /// Whether the profile is on a read-only filesystem.
    package var isOnReadOnlyDisk: Bool {
        var space = statvfs()
        return unsafe statvfs(path, &space) == 0 && space.f_flag & UInt(ST_RDONLY) != 0
    }

    /// Whether a process holds the lock now.
    package var isLocked: Bool {
        do throws(SystemError) { return try FileLock.take(lock) == nil } catch { return false }
    }
}
