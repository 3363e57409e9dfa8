package import CofferSystem
internal import Glibc

/// Where a profile lies, and the files in it.
package struct ProfileLocation: Sendable {
    /// The profile's directory; always absolute, as a mount in the background has another working directory.
    package let path: String

    /// - Parameter path: The directory; a relative path is below the working directory.
    package init(path: String) {
        self.path = Directory.absolute(path)
    }

    /// The place that the environment or the system's convention gives: COFFER_HOME, else
    /// XDG_DATA_HOME/coffer, else ~/.local/share/coffer.
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

    /// Whether a profile is there.
    package var exists: Bool { Directory.exists(profile) }

    /// How long to wait for a holder of the lock that is ending, in nanoseconds.
    private static let endingTimeMax: Int64 = 2_000_000_000

    /// Takes the profile for this process.
    ///
    /// A process that was killed holds the lock until the kernel has closed its files: that is waited for.
    ///
    /// - Throws: `.noProfile`, `.locked`.
    package func takeLock() throws(ProfileError) -> FileLock {
        guard exists else { throw .noProfile(path: path) }
        let deadline = Clock.monotonic + Self.endingTimeMax
        while true {
            let taken = try systemCalls { () throws(SystemError) in try FileLock.take(lock) }
            if let taken { return taken }
            let note = lockNote
            guard let note, ProcessState.isEnding(note.process), Clock.monotonic < deadline else {
                throw .locked(note)
            }
            usleep(10_000)
        }
    }

    /// What the holder of the lock, past or present, left there.
    package var lockNote: LockNote? {
        guard let bytes = try? WholeFile.read(lock, limit: 16_384) else { return nil }
        return LockNote(bytes)
    }

    /// Whether somebody holds the lock now.
    package var isLocked: Bool {
        do throws(SystemError) { return try FileLock.take(lock) == nil } catch { return false }
    }
}
