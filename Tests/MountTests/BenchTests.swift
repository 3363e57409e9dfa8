import Foundation
import Testing

extension MountTests {
    /// `coffer bench`, which has to leave a directory as it was.
    @Suite struct BenchTests {
        private static let parts = ["cipher", "disk", "mount"]

        /// Runs a body with an empty directory, and checks that it is empty afterwards.
        private func withDirectory(_ body: (String) throws -> Void) throws {
            var template = Array("\(NSTemporaryDirectory())/coffer-tests-XXXXXX".utf8CString)
            let base = try resolve(String(cString: try #require(mkdtemp(&template))))
            defer {
                for mount in Mounts.below(base).reversed() { umount2(mount, Int32(MNT_DETACH)) }
                try? FileManager.default.removeItem(atPath: base)
            }
            try body(base)
            #expect(Mounts.below(base) == [], "a mount is left")
            #expect(try Files.names(base) == [], "files are left")
        }

        /// The directory as the kernel's list of mounts names it.
        private func resolve(_ path: String) throws -> String {
            let resolved = try #require(realpath(path, nil))
            defer { free(resolved) }
            return String(cString: resolved)
        }

        private func bench(_ words: String...) throws -> Command {
            Command(try Programs.coffer(), ["bench", "--quick", "--size", "16M"] + words)
        }

        @Test func listsForPeople() throws {
            try Machine.requireFUSE()
            try withDirectory { directory in
                let result = try bench(directory).succeed()
                #expect(result.error == "")
                #expect(result.lines.first?.hasPrefix(directory) == true, "\(result.output)")
                for text in ["Cipher", "Disk", "Mount", "Bottlenecks", "large read, cold", "MB/s", " µs"] {
                    #expect(result.output.contains(text), "\(text) is missing: \(result.output)")
                }
            }
        }

        @Test func listsForScripts() throws {
            try Machine.requireFUSE()
            try withDirectory { directory in
                let result = try bench("--json", directory).succeed()
                let report = try result.decode(BenchReport.self)
                #expect(report.directory == directory && report.rounds == 1 && report.cores >= 1)
                #expect(report.size == 16 << 20 && report.seconds > 0)
                #expect(Set(report.rows.map(\.part)) == Set(Self.parts))
                let names = report.rows.map(\.measure)
                #expect(Set(names).count == names.count)
                // All but the costliest passphrase, and percentiles where the disk is very slow.
                #expect(report.rows.count >= 18, "\(names)")
                for row in report.rows {
                    #expect(row.minimum > 0 && row.minimum <= row.median && row.median <= row.maximum)
                    #expect((row.limit != nil) == (row.part == "mount"), "\(row.measure)")
                    #expect(["MB/s", "µs", "ms"].contains(row.unit))
                }
                let write = try #require(report.rows.first { $0.measure == "mountWrite" })
                #expect(write.cipherRatio ?? 0 > 0 && write.diskRatio ?? 0 > 0)
            }
        }

        /// `coffer bench` neither needs nor touches an existing profile, mounted or not.
        @Test func anExistingProfileStaysUntouched() throws {
            try withMountedProfile { profile in
                try Files.write("text", to: profile.path("file"))
                let before = try Files.names(profile.home)
                var command = try bench("--json")
                command.arguments += ["--home", profile.home]
                let report = try command.succeed().decode(BenchReport.self)
                #expect(report.directory == profile.home)
                #expect(try Files.names(profile.home) == before)
                #expect(try Files.text(profile.path("file")) == "text")
            }
        }

        @Test(arguments: [SIGINT, SIGTERM])
        func interrupted(signal: Int32) throws {
            try Machine.requireFUSE()
            try withDirectory { directory in
                var command = try bench(directory)
                command.arguments.removeAll { $0 == "--quick" }
                let child = try Child(command)
                let isMounted = Processes.waitUntil { !Mounts.below(directory).isEmpty }
                #expect(isMounted)
                kill(child.process, signal)
                let result = try child.wait()
                #expect(result.status == -signal, "\(result)")
                #expect(result.output == "" && result.error.contains("removed"), "\(result)")
            }
        }

        @Test func wrongWords() throws {
            try withDirectory { directory in
                for size in ["0", "-1", "many", "1X", "99999999999T", ""] {
                    try Command(try Programs.coffer(), ["bench", "--size=\(size)", directory]).fail(with: 64)
                }
                let result = try bench("\(directory)/none").fail(with: 74)
                #expect(result.error.contains("none: No such file"), "\(result.error)")
            }
        }

        @Test(.enabled(if: Machine.hasLoopDevices, "an ext4 of its own takes root and loop devices"))
        func unfitDisks() throws {
            try LoopDisk.with(megabytes: 32) { disk in
                let before = try Files.names(disk)
                let full = try bench(disk).fail(with: 74)
                #expect(full.error.contains("No space left") && full.output == "", "\(full)")
                #expect(try Files.names(disk) == before)
                try Files.check(Glibc.mount(nil, disk, nil, UInt(MS_REMOUNT | MS_RDONLY), nil), disk)
                let readOnly = try bench(disk).fail(with: 74)
                #expect(readOnly.error.contains("Read-only") && readOnly.output == "", "\(readOnly)")
                #expect(try Files.names(disk) == before)
            }
        }

        /// The disk fills up during the measurement.
        @Test(.enabled(if: Machine.hasLoopDevices, "an ext4 of its own takes root and loop devices"))
        func diskFillsDuringTheMeasurement() throws {
            try LoopDisk.with(megabytes: 160) { path in
                let disk = try resolve(path)
                let before = try Files.names(disk)
                let child = try Child(try bench(disk))
                let hasBegun = Processes.waitUntil { !Mounts.below(disk).filter { $0 != disk }.isEmpty }
                #expect(hasBegun)
                let error = try errorNumber {
                    try Files.write(pattern(200 << 20), to: "\(disk)/other", durably: true)
                }
                #expect(error == ENOSPC)
                let result = try child.wait()
                // Whether the disk filled up before the last write is a matter of luck.
                #expect([0, 74].contains(result.status), "\(result)")
                try Files.remove("\(disk)/other")
                #expect(try Files.names(disk) == before)
                #expect(Mounts.below(disk) == [disk])
            }
        }

        /// Without FUSE, the rest is measured, and a line says so.
        @Test(.enabled(if: Machine.isRoot && Machine.has("unshare"), "a /dev of its own takes root"))
        func withoutFUSE() throws {
            try withDirectory { directory in
                let script = "mount -t tmpfs none /dev && exec \"$@\""
                let command = try bench("--json", directory)
                let unshare = try #require(Machine.path("unshare"))
                let result = try Command(
                    unshare,
                    ["--mount", "--propagation", "private", "/bin/sh", "-c", script, "sh", command.program]
                        + command.arguments
                ).succeed()
                let report = try result.decode(BenchReport.self)
                #expect(Set(report.rows.map(\.part)) == ["cipher", "disk"])
                #expect(report.notes.contains { $0.hasPrefix("The mount is left out: FUSE cannot be used") })
            }
        }
    }
}

/// What `coffer bench --json` prints.
private struct BenchReport: Decodable {
    let directory: String
    let cores: Int
    let size: Int
    let rounds: Int
    let seconds: Double
    let rows: [Row]
    let notes: [String]

    struct Row: Decodable {
        let measure: String
        let part: String
        let title: String
        let unit: String
        let median: Double
        let minimum: Double
        let maximum: Double
        let rounds: Int
        let cipherRatio: Double?
        let diskRatio: Double?
        let limit: String?
    }
}
