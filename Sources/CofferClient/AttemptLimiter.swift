internal import CofferSystem

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
    /// More are not counted: the wait has long been as long as it gets.
    private static let countMax = 1000

    let path: String
    /// The clock and the boot that it belongs to; a parameter for tests.
    var now: () -> Int64 = { Clock.bootTime }
    var boot: () throws(SystemError) -> String = { () throws(SystemError) in try Clock.bootIdentifier() }

    private struct Record {
        var count: Int
        var boot: String
        var time: Int64
    }

    /// Checks that the wait is over, and counts an attempt.
    ///
    /// - Throws: `.tooManyAttempts`.
    func begin() throws(ProfileError) {
        let boot = try systemCalls { () throws(SystemError) in try self.boot() }
        let now = now()
        var record = read() ?? Record(count: 0, boot: boot, time: now)
        // A time that cannot be, or a file that makes no sense: the wait begins now.
        if record.boot == boot ? record.time > now : record.boot.isEmpty {
            record.boot = boot
            record.time = now
            try store(record)
        }
        let since = record.boot == boot ? now - record.time : now
        let rest = Self.delay(after: record.count) * Self.second - since
        if rest > 0 { throw .tooManyAttempts(seconds: (rest + Self.second - 1) / Self.second) }
        try store(Record(count: record.count + 1, boot: boot, time: now))
    }

    private func store(_ record: Record) throws(ProfileError) {
        let text = "1 \(record.count) \(record.boot) \(record.time)\n"
        try systemCalls { () throws(SystemError) in try WholeFile.replace(path, with: Array(text.utf8)) }
    }

    /// Forgets all attempts, after a right passphrase.
    func succeed() throws(ProfileError) {
        try systemCalls { () throws(SystemError) in try Directory.removeFile(path) }
    }

    /// Wrong passphrases so far.
    var count: Int { read()?.count ?? 0 }

    static func delay(after count: Int) -> Int64 {
        guard count >= freeCount else { return 0 }
        return min(longestDelay, firstDelay << Int64(min(count - freeCount, 20)))
    }

    /// What was counted; a file that makes no sense counts as many attempts.
    private func read() -> Record? {
        guard Directory.exists(path) else { return nil }
        let suspicious = Record(count: Self.freeCount + 2, boot: "", time: 0)
        guard let bytes = try? WholeFile.read(path, limit: 4096) else { return suspicious }
        let fields = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard fields.count == 4, fields[0] == "1", let count = Int(fields[1]), count >= 0,
            let time = Int64(fields[3]), time >= 0
        else { return suspicious }
        return Record(count: min(count, Self.countMax), boot: String(fields[2]), time: time)
    }
}
