import CofferSystem
import Foundation
import Testing

@testable import CofferClient

/// The delays after wrong passphrases, with a clock that the test sets.
@Suite struct AttemptLimiterTests {
    /// A clock, in nanoseconds since a boot.
    private final class Machine {
        let directory: TemporaryDirectory
        var seconds: Int64 = 10_000
        var boot = "first-boot"

        init() throws { directory = try TemporaryDirectory() }

        var path: String { "\(directory.path)/attempts" }

        /// A limiter, as in a program that has just started.
        var limiter: AttemptLimiter {
            AttemptLimiter(
                path: path, now: { self.seconds * 1_000_000_000 },
                boot: { () throws(SystemError) in self.boot })
        }

        /// Begins an attempt; nil if it may continue, otherwise the seconds to wait.
        func attempt() throws -> Int64? {
            let limiter = limiter
            switch clientError({ () throws(ClientError) in try limiter.begin() }) {
            case nil: return nil
            case .profile(.tooManyAttempts(let seconds)): return seconds
            case let error?: throw error
            }
        }

        func write(_ text: String) throws {
            try Data(text.utf8).write(to: URL(filePath: path))
        }

        /// Three attempts that cost nothing.
        func useUp() throws {
            for _ in 1...3 { #expect(try attempt() == nil) }
        }
    }

    @Test func delaysGrowAndEnd() {
        #expect((0...2).map { AttemptLimiter.delay(after: $0) } == [0, 0, 0])
        #expect((3...10).map { AttemptLimiter.delay(after: $0) } == [5, 10, 20, 40, 80, 160, 320, 640])
        for count in [11, 12, 30, 63, 64, 65, 1000, Int.max] {
            #expect(AttemptLimiter.delay(after: count) == 900, "\(count)")
        }
    }

    @Test func waitsAreKept() throws {
        let machine = try Machine()
        try machine.useUp()
        for delay in [5, 10, 20, 40, 80, 160, 320, 640, 900, 900] as [Int64] {
            #expect(try machine.attempt() == delay)
            machine.seconds += delay - 1
            #expect(try machine.attempt() == 1)
            // Asking too early does not prolong the wait.
            #expect(try machine.attempt() == 1)
            machine.seconds += 1
            #expect(try machine.attempt() == nil)
        }
        #expect(machine.limiter.count == 13)
    }

    @Test func successForgets() throws {
        let machine = try Machine()
        try machine.useUp()
        try machine.limiter.succeed()
        #expect(machine.limiter.count == 0)
        try machine.useUp()
        #expect(try machine.attempt() == 5)
    }

    /// The count overwrites the existing file, so that a full disk locks nobody out.
    @Test func theFileStaysWhereItIs() throws {
        let machine = try Machine()
        var places: Set<UInt64> = []
        for _ in 1...3 {
            #expect(try machine.attempt() == nil)
            try machine.limiter.succeed()
            var status = stat()
            #expect(stat(machine.path, &status) == 0)
            #expect(status.st_size == 128)
            places.insert(UInt64(status.st_ino))
        }
        #expect(places.count == 1)
    }

    /// An attempt that cannot be counted takes a fixed time instead.
    @Test func noRoomForTheFile() throws {
        var paused: [Int64] = []
        var limiter = try Machine().limiter
        limiter.pause = { paused.append($0) }
        limiter.write = { path, _ throws(SystemError) in throw SystemError("write", code: ENOSPC, on: path) }
        for _ in 1...10 { try limiter.begin() }
        #expect(paused == Array(repeating: 5, count: 10))
        limiter.write = { path, _ throws(SystemError) in throw SystemError("write", code: EIO, on: path) }
        let failing = limiter
        #expect(clientError { () throws(ClientError) in try failing.begin() } != nil)
    }

    /// If the disk fills up, each attempt takes as long as the wait after the last counted one.
    @Test func noRoomForAnotherCount() throws {
        let machine = try Machine()
        try machine.useUp()
        for delay in [5, 10, 20] as [Int64] {
            machine.seconds += delay
            #expect(try machine.attempt() == nil)
        }
        machine.seconds += 1000
        var paused: [Int64] = []
        var limiter = machine.limiter
        limiter.pause = { paused.append($0) }
        limiter.write = { path, _ throws(SystemError) in throw SystemError("write", code: EDQUOT, on: path) }
        try limiter.begin()
        #expect(paused == [40])
        try limiter.succeed()
        #expect(paused == [40])
    }

    /// An attempt counts before the passphrase is tried: killing the program is of no use.
    @Test func countedBeforehand() throws {
        let machine = try Machine()
        for count in 1...3 {
            #expect(try machine.attempt() == nil)
            #expect(machine.limiter.count == count)
        }
    }

    /// The clock of another boot cannot be compared: the wait restarts with the boot.
    @Test func aRebootRestartsTheWait() throws {
        let machine = try Machine()
        try machine.useUp()
        machine.seconds += 4
        machine.boot = "second-boot"
        machine.seconds = 1
        #expect(try machine.attempt() == 4)
        machine.seconds = 5
        #expect(try machine.attempt() == nil)
        #expect(try machine.attempt() == 10)
    }

    /// CLOCK_BOOTTIME cannot go back within a boot; if it seems to, nobody skips the wait, or waits for
    /// longer than the wait is.
    @Test(arguments: [9_999, 5_000, 0] as [Int64])
    func clockGoesBackWithinABoot(seconds: Int64) throws {
        let machine = try Machine()
        try machine.useUp()
        machine.seconds = seconds
        let wait = try machine.attempt()
        #expect(try #require(wait) >= 5)
        #expect(try #require(wait) <= 900)
    }

    /// A malformed file does not avoid the wait, at least not directly after a boot.
    @Test(arguments: [
        "", "\n", "garbage", "1 2 3", "2 1 first-boot 0", "1 -1 first-boot 0", "1 x first-boot 0",
        "1 1 first-boot -5", "1 1 first-boot 0 more", "\0\0\0\0", "1 99999999999999999999 first-boot 0",
    ])
    func fileWithoutSense(text: String) throws {
        let machine = try Machine()
        machine.seconds = 2
        try machine.write(text)
        let wait = try machine.attempt()
        #expect(try #require(wait) >= 5)
        #expect(try #require(wait) <= 900)
        #expect(machine.limiter.count >= 3)
    }

    /// The same, long after the boot.
    @Test(arguments: ["garbage", "1 -1 first-boot 0", "1 3 first-boot \(Int64.max)"])
    func fileWithoutSenseLater(text: String) throws {
        let machine = try Machine()
        try machine.write(text)
        #expect(try machine.attempt() != nil)
        // Nobody is locked out forever.
        machine.seconds += 900
        #expect(try machine.attempt() == nil)
    }

    @Test func directoryInTheWay() throws {
        let machine = try Machine()
        machine.seconds = 2
        try FileManager.default.createDirectory(atPath: machine.path, withIntermediateDirectories: false)
        let limiter = machine.limiter
        #expect(clientError { () throws(ClientError) in try limiter.begin() } != nil)
    }

    /// Numbers at the ends of their ranges make the program wait, not trap.
    @Test(arguments: [
        "1 5 first-boot \(Int64.max)", "1 \(Int.max) first-boot \(Int64.max)", "1 \(Int.max) first-boot 0",
        "1 \(Int.max) other-boot 0", "1 1 first-boot \(Int64.max)",
    ])
    func numbersAtTheEnds(text: String) async {
        await #expect(processExitsWith: .success) { [text] in
            let machine = try Machine()
            for seconds in [0, 1, 10_000] as [Int64] {
                machine.seconds = seconds
                try machine.write(text)
                if let wait = try machine.attempt() { try #require(wait <= 900) }
            }
        }
    }
}
