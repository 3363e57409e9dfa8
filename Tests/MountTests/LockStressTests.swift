import Foundation
import Testing

extension MountTests {
    /// Programs that write without end while the profile is locked and unlocked again and again.
    ///
    /// Each knows what the system has acknowledged, and tells in the end. COFFER_LOCK_ROUNDS sets how often to lock.
    @Suite(.enabled(if: Machine.has("python3"), "python3 is not installed"))
    struct LockStressTests {
        private static let rounds =
            ProcessInfo.processInfo.environment["COFFER_LOCK_ROUNDS"].flatMap { Int($0) } ?? 6

        private static let common = """
            import errno, hashlib, mmap, os, random, sys, time
            place, stop = sys.argv[1:3]
            refused = (errno.ENOKEY, errno.ENOSPC)
            def goes_on(): return not os.path.exists(stop)
            def attempt(call, *arguments):
                # Nothing that was refused counts.
                try: return call(*arguments)
                except OSError as error:
                    if error.errno not in refused: raise
                    time.sleep(0.005)
                    return None
            def insist(call, *arguments):
                while True:
                    result = attempt(call, *arguments)
                    if result is not None: return result
            def opened(name, flags=0): return insist(os.open, place + "/" + name, os.O_RDWR | os.O_CREAT | flags, 0o644)
            def told(name, content): print(name, hashlib.sha256(content).hexdigest(), flush=True)

            """

        /// By name: what they write, and what must be there in the end.
        private static let writers = [
            // A log, line by line.
            "append": """
            file, size = opened("append", os.O_APPEND), 0
            stream = b"".join(b"%015d\\n" % i for i in range(1 << 18))
            print("ready", flush=True)
            while goes_on() and size < len(stream) - 5000:
                size += attempt(os.write, file, stream[size:size + random.randrange(1, 5000)]) or 0
                time.sleep(0.0005)
            told("append", stream[:size])
            """,
            // Records anywhere in a file, and whole pages.
            "anywhere": """
            image = bytearray(1 << 20)
            file = opened("anywhere")
            while insist(os.pwrite, file, bytes(image), 0) != len(image): pass
            print("ready", flush=True)
            while goes_on():
                count = random.choice((1, 100, 4096, 8192, 30000))
                offset = random.randrange(0, len(image) - count)
                if random.random() < 0.5: offset -= offset % 4096
                data = os.urandom(count)
                done = attempt(os.pwrite, file, data, offset) or 0
                image[offset:offset + done] = data[:done]
                time.sleep(0.0005)
            told("anywhere", bytes(image))
            """,
            // Files that replace each other, as editors save, and files that go again.
            "replace": """
            number = 0
            def text(number): return b"version %d of this file\\n" % number * 500
            def made(name, content):
                # An editor saves again if close(2) tells of a failure.
                while True:
                    file, done = opened(name, os.O_TRUNC), 0
                    while done < len(content): done += insist(os.write, file, content[done:])
                    if attempt(lambda: os.close(file) or True): return
            made("target", text(0))
            print("ready", flush=True)
            while goes_on():
                made("target.new", text(number + 1))
                insist(lambda: os.rename(place + "/target.new", place + "/target") or True)
                number += 1
                made("brief", b"brief")
                insist(lambda: os.unlink(place + "/brief") or True)
            told("target", text(number))
            """,
        ]

        /// Stores into a mapping, which msync(2) acknowledges.
        ///
        /// Access to a mapping of a locked file ends the child.
        private static let mapping = """
            import struct
            file, acknowledged, attempted = opened("mapping"), 0, 0
            insist(lambda: os.ftruncate(file, 1 << 16) or True)
            print("ready", flush=True)
            while goes_on():
                reading, writing = os.pipe()
                child = os.fork()
                if child == 0:
                    try: map = mmap.mmap(file, 1 << 16)
                    except OSError: os._exit(1)
                    number = attempted
                    while goes_on():
                        number += 1
                        os.write(writing, struct.pack("<Q", number))
                        for page in range(16): map[page * 4096:page * 4096 + 8] = struct.pack("<Q", number)
                        try: map.flush()
                        except OSError: os._exit(1)
                        os.write(writing, struct.pack("<Q", 0))
                        time.sleep(0.001)
                    os._exit(0)
                os.close(writing)
                while True:
                    word = os.read(reading, 8)
                    if not word: break
                    number = struct.unpack("<Q", word)[0]
                    if number: attempted = number
                    else: acknowledged = attempted
                os.close(reading)
                os.waitpid(child, 0)
                time.sleep(0.01)
            print("mapping", acknowledged, attempted, flush=True)
            """

        private struct Writers {
            let profile: MountedProfile
            let names: [String]
            private let children: [Child]
            private var stop: String { "\(profile.base)/stop" }

            init(_ profile: MountedProfile, _ scripts: [String: String]) throws {
                self.profile = profile
                names = scripts.keys.sorted()
                children = try names.map { name in
                    let script = LockStressTests.common + (scripts[name] ?? "")
                    return try Child(
                        Command(
                            try #require(Machine.path("python3")),
                            ["-c", script, profile.vault, "\(profile.base)/stop"]))
                }
                for child in children { try child.waitForLine("ready") }
            }

            /// Ends the programs, and returns what each has told.
            func end() throws -> [String: [String]] {
                try Files.write("", to: stop)
                var told: [String: [String]] = [:]
                for child in children {
                    let result = try child.wait()
                    #expect(result.status == 0, "\(result.error)")
                    let words = result.lines.last?.split(separator: " ").map(String.init) ?? []
                    if let name = words.first { told[name] = Array(words.dropFirst()) }
                }
                return told
            }
        }

        private func expect(_ told: [String: [String]], in profile: MountedProfile, _ when: String) throws {
            for (name, words) in told {
                if name == "mapping" {
                    let bytes = try Files.read(profile.path(name))
                    let limits: [UInt64] = words.compactMap { UInt64($0) }
                    try #require(limits.count == 2 && bytes.count == 1 << 16, "\(when): \(words)")
                    for page in 0..<16 {
                        let number = bytes[page * 4096..<page * 4096 + 8].reversed().reduce(0) {
                            $0 << 8 | UInt64($1)
                        }
                        #expect(
                            (limits[0]...limits[1]).contains(number), "\(when): page \(page) of a mapping")
                    }
                } else {
                    let sum = try Command("/usr/bin/sha256sum", [profile.path(name)]).succeed().output
                    let isSame = words.first.map { sum.hasPrefix("\($0) ") } ?? false
                    #expect(isSame, "\(when): \(name)")
                }
            }
        }

        @Test func nothingAcknowledgedIsLost() throws {
            try withMountedProfile { profile in
                var scripts = Self.writers
                scripts["mapping"] = Self.mapping
                let writers = try Writers(profile, scripts)
                for _ in 0..<Self.rounds {
                    try profile.command("lock", passphrase: false).succeed()
                    try profile.command("unlock").succeed()
                    // Until the programs are in the middle of it again.
                    usleep(300_000)
                }
                let told = try writers.end()
                #expect(told.count == writers.names.count, "\(told)")
                try expect(told, in: profile, "before the end")
                try profile.remount()
                try expect(told, in: profile, "after a remount")
                #expect(try profile.check().damage.isEmpty)
            }
        }

        /// A disk that is full now and then; then only the kernel has what was acknowledged, and keeps it.
        @Test(.enabled(if: Machine.hasLoopDevices, "an ext4 of its own takes root and loop devices"))
        func nothingAcknowledgedIsLostOnAFullDisk() throws {
            try LoopDisk.with(megabytes: 100) { disk in
                try withProfile(mounted: "rw", disk: disk) { profile in
                    profile.expectsProblems = true
                    let ballast = open("\(disk)/ballast", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
                    defer { close(ballast) }
                    let writers = try Writers(profile, Self.writers)
                    let block = [UInt8](repeating: 7, count: 1 << 16)
                    var codes: [Int32] = []
                    for round in 0..<Self.rounds {
                        if round % 2 == 1 {
                            while write(ballast, block, block.count) > 0 {}
                            usleep(200_000)
                        }
                        let lock = try profile.command("lock", passphrase: false).run()
                        codes.append(lock.status)
                        #expect([0, 74].contains(lock.status), "\(lock.error)")
                        try Files.check(ftruncate(ballast, 0), disk)
                        lseek(ballast, 0, SEEK_SET)
                        if lock.status == 0 { try profile.command("unlock").succeed() }
                        usleep(300_000)
                    }
                    let told = try writers.end()
                    #expect(told.count == writers.names.count, "\(told), locks: \(codes)")
                    try expect(told, in: profile, "before the end, locks: \(codes)")
                    // What could not be stored is stored from the kernel's copy.
                    try profile.command("lock", passphrase: false).succeed()
                    try profile.command("unlock").succeed()
                    try expect(told, in: profile, "after a lock")
                    #expect(try profile.check().damage.isEmpty)
                }
            }
        }
    }
}
