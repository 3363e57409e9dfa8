internal import CofferStore
internal import CofferSystem
internal import Glibc

/// Makes whoever gives wrong passphrases wait, longer each time.
///
/// Counted before a passphrase is tried, so that killing the program does not help; timed by a clock that
/// runs through suspend and cannot be set. After a reboot the wait starts anew. It slows down those who
/// use this program; a copy of the profile file is protected by Argon2id alone.
struct AttemptLimiter {
    /// Wrong passphrases that cost nothing.
    private static let freeCount = 3
    private static let firstDelay: Int64 = 5
    private static let longestDelay: Int64 = 900
    private static let second: Int64 = 1_000_000_000

    let path: String
    /// The clock and the boot that it belongs to; a parameter for tests.
    var now: () -> Int64 = { Clock.bootTime }
    var boot: () throws(SystemError) -> String = { () throws(SystemError) in try Clock.bootIdentifier() }
    /// Stores the file; a parameter for tests, as is the next.
    var write: (String, [UInt8]) throws(SystemError) -> Void = { path, bytes throws(SystemError) in
        try WholeFile.overwrite(path, with: bytes)
    }
    /// Waits for some seconds.
    var pause: (Int64) -> Void = { sleep(UInt32($0)) }

    /// Checks that the wait is over, and counts an attempt.
    ///
    /// - Throws: `.tooManyAttempts`.
    func begin() throws(ProfileError) {
        let boot = try systemCalls { () throws(SystemError) in try self.boot() }
        let now = now()
        var record = read() ?? AttemptRecord(count: 0, boot: boot, time: now)
        // A time that cannot be, or a file that makes no sense: the wait begins now.
        if record.boot == boot ? record.time > now : record.boot.isEmpty {
            record.boot = boot
            record.time = now
            try store(record)
        }
        let since = record.boot == boot ? now - record.time : now
        let rest = Self.delay(after: record.count) * Self.second - since
        if rest > 0 { throw .tooManyAttempts(seconds: (rest + Self.second - 1) / Self.second) }
        let isStored = try store(AttemptRecord(count: record.count + 1, boot: boot, time: now))
        if !isStored { pause(max(Self.firstDelay, Self.delay(after: record.count))) }
    }

    /// Writes over the file that is there.
    ///
    /// A full disk may have no room for a first one, nor, where files are copied on writing or lie elsewhere, for any.
    ///
    /// - Returns: Whether there was room.
    @discardableResult
    private func store(_ record: AttemptRecord) throws(ProfileError) -> Bool {
        do throws(SystemError) {
            try write(path, record.bytes)
            return true
        } catch {
            guard error.isNoSpace else { throw .system(error) }
            return false
        }
    }

    /// Forgets all attempts, after a right passphrase.
    ///
    /// The file stays, for its room on the disk.
    func succeed() throws(ProfileError) {
        guard Directory.exists(path) else { return }
        let boot = try systemCalls { () throws(SystemError) in try self.boot() }
        try store(AttemptRecord(count: 0, boot: boot, time: now()))
    }

    /// Wrong passphrases so far.
    var count: Int { read()?.count ?? 0 }

    static func delay(after count: Int) -> Int64 {
        guard count >= freeCount else { return 0 }
        return min(longestDelay, firstDelay << Int64(min(count - freeCount, 20)))
    }

    /// What was counted; a file that makes no sense counts as many attempts.
    private func read() -> AttemptRecord? {
        guard Directory.exists(path) else { return nil }
        let suspicious = AttemptRecord(count: Self.freeCount + 2, boot: "", time: 0)
        guard let bytes = try? WholeFile.read(path, limit: 4096) else { return suspicious }
        return AttemptRecord(bytes) ?? suspicious
    }
}
