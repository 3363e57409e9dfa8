internal import CofferSystem
internal import Glibc

/// Imposes a wait after wrong passphrases, which grows with each one.
///
/// An attempt is counted before the passphrase is tried, so killing the program does not help. The clock runs
/// through suspend, and cannot be set. After a reboot the wait starts again. This slows down only users of
/// this program; a copy of the profile file is protected by Argon2id alone.
struct AttemptLimiter {
    /// Wrong passphrases without a wait.
    private static let freeCount = 3
    /// In seconds, as is the next.
    private static let firstDelay: Int64 = 5
    private static let longestDelay: Int64 = 900
    private static let second: Int64 = 1_000_000_000

    let path: String
    /// The clock, in nanoseconds since the boot that `boot` names; parameters for tests.
    var now: () -> Int64 = { Clock.bootTime }
    var boot: () throws(SystemError) -> String = { () throws(SystemError) in try Clock.bootIdentifier() }
    /// Stores the file; a parameter for tests, as is `pause`.
    var write: (String, [UInt8]) throws(SystemError) -> Void = { path, bytes throws(SystemError) in
        try WholeFile.overwrite(path, with: bytes)
    }
    /// Sleeps for a number of seconds.
    var pause: (Int64) -> Void = { sleep(UInt32($0)) }

    /// Checks that the wait is over, and counts an attempt.
    ///
    /// If a full or read-only disk cannot take the count, sleeps for the delay instead.
    ///
    /// - Throws: `.tooManyAttempts` with the seconds left to wait.
    func begin() throws(ClientError) {
        let record = try check()
        let boot = try systemCalls { () throws(SystemError) in try self.boot() }
        let isStored = try store(AttemptRecord(count: record.count + 1, boot: boot, time: now()))
        if !isStored { pause(max(Self.firstDelay, Self.delay(after: record.count))) }
    }

    /// Checks that the wait is over.
    ///
    /// - Throws: `.tooManyAttempts` with the seconds left to wait.
    @discardableResult
    func check() throws(ClientError) -> AttemptRecord {
        let boot = try systemCalls { () throws(SystemError) in try self.boot() }
        let now = now()
        var record = read() ?? AttemptRecord(count: 0, boot: boot, time: now)
        // With a time in the future, or a malformed file, the wait begins now.
        if record.boot == boot ? record.time > now : record.boot.isEmpty {
            record.boot = boot
            record.time = now
            try store(record)
        }
        let since = record.boot == boot ? now - record.time : now
        let rest = Self.delay(after: record.count) * Self.second - since
        if rest > 0 { throw .profile(.tooManyAttempts(seconds: (rest + Self.second - 1) / Self.second)) }
        return record
    }

    /// Overwrites the file in place.
    ///
    /// A full disk may have no room to create the file, and on a copy-on-write or remote filesystem none to
    /// overwrite it.
    ///
    /// - Returns: Whether there was room.
    @discardableResult
    private func store(_ record: AttemptRecord) throws(ClientError) -> Bool {
        do throws(SystemError) {
            try write(path, record.bytes)
            return true
        } catch {
            guard error.isNoSpace || error.isReadOnly else { throw .system(error) }
            return false
        }
    }

    /// Resets the count after a correct passphrase.
    ///
    /// The file stays, to keep its space on the disk.
    func succeed() throws(ClientError) {
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

    /// Reads the count; an unreadable or malformed file counts as several wrong passphrases.
    private func read() -> AttemptRecord? {
        guard Directory.exists(path) else { return nil }
        let suspicious = AttemptRecord(count: Self.freeCount + 2, boot: "", time: 0)
        guard let bytes = try? WholeFile.read(path, limit: 4096) else { return suspicious }
        return AttemptRecord(bytes) ?? suspicious
    }
}
