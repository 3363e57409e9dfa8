import Foundation
import Testing

extension MountTests {
    /// kill -9 of the process behind the mount.
    @Suite struct CrashTests {
        /// Two concurrent writers; one of them uses another kind of file each round.
        @Test func durableDataSurvivesCrashes() throws {
            let loads = ["small", "large", "rewriting"]
            try withMountedProfile { profile in
                for round in 1...10 {
                    let seed = Int.random(in: 1...1_000_000)
                    print("crash round \(round), seed \(seed)")
                    let places = [("mixed", "a"), (loads[round % loads.count], "b")].map { load, name in
                        (
                            load: load, directory: profile.path("\(round)\(name)"),
                            manifest: "\(profile.base)/\(round)\(name)"
                        )
                    }
                    let writers = try places.map { place in
                        try Files.makeDirectory(place.directory)
                        return try Child(
                            Command(
                                try Programs.workload(),
                                [
                                    "write-manifest", place.directory, place.manifest, "--seed", "\(seed)",
                                    "--load", place.load,
                                ]))
                    }
                    let wanted = 10 + seed % 40
                    #expect(
                        Processes.waitUntil { self.changes(in: places[0].manifest) >= wanted }, "seed \(seed)"
                    )
                    try profile.crash()
                    for writer in writers {
                        #expect(try writer.wait().status == 3, "the writer has to meet the crash")
                    }
                    try profile.mount()
                    for place in places {
                        let checker = Command(
                            try Programs.workload(), ["check-manifest", place.directory, place.manifest])
                        let result = try checker.run()
                        #expect(result.status == 0, "seed \(seed): \(result.output)")
                    }
                    #expect(try profile.check().damage.isEmpty, "seed \(seed)")
                }
            }
        }

        /// Appends with an fsync each: the intent log holds those that no commit contains.
        @Test func fsyncedAppendsOutliveACrash() throws {
            try withMountedProfile { profile in
                var expected = [UInt8](repeating: 1, count: 100)
                try Files.write(expected, to: profile.path("file"), durably: true)
                for round in 1...3 {
                    let file = open(profile.path("file"), O_WRONLY | O_APPEND | O_CLOEXEC)
                    try Files.check(file, "file")
                    for piece in 0..<(round == 1 ? 20 : 700) {
                        let bytes = [UInt8](repeating: UInt8(piece % 251), count: 1 + piece * 37 % 5000)
                        try Files.append(bytes, to: file, "file")
                        try Files.check(fsync(file), "file")
                        expected += bytes
                    }
                    let log = try #require(
                        try Files.all(below: profile.home).first { $0.hasSuffix("/intents") })
                    #expect(try Files.read(log, count: 4) != [0, 0, 0, 0])
                    try profile.crash()
                    close(file)
                    try profile.mount()
                    let isSame = try Files.read(profile.path("file")) == expected
                    #expect(isSame, "round \(round)")
                }
                #expect(try profile.check().damage.isEmpty)
                try profile.unmount()
                #expect(try !Files.all(below: profile.home).contains { $0.hasSuffix("/intents") })
            }
        }

        /// Durable changes so far.
        private func changes(in manifest: String) -> Int {
            (try? Files.text(manifest))?.split(separator: "\n").count { $0 == "done" } ?? 0
        }

        /// The kernel may have cached the root of the dead mount, and answer for it.
        @Test(arguments: [true, false])
        func deadMountIsReplaced(isRemembered: Bool) throws {
            try withMountedProfile { profile in
                try Files.write("durable", to: profile.path("file"), durably: true)
                if isRemembered { #expect(try Files.names(profile.point) == ["Personal"]) }
                try profile.crash()
                let error = try errorNumber { try Files.write("", to: profile.path("new")) }
                #expect([ENOTCONN, ECONNABORTED].contains(error), "errno \(error)")
                let result = try profile.command("mount", profile.point).succeed()
                try profile.noteMounted()
                #expect(result.error.contains(profile.point))
                #expect(Mounts.below(profile.base) == [profile.point])
                #expect(try Files.text(profile.path("file")) == "durable")
            }
        }

        @Test func deadMountCanBeUnmounted() throws {
            try withMountedProfile { profile in
                try profile.crash()
                try profile.command("unmount", profile.point).succeed()
                #expect(Mounts.below(profile.base) == [])
            }
        }

        /// Commands must not mistake the socket of a dead mount for a mount.
        @Test func commandsWorkAfterACrash() throws {
            try withMountedProfile { profile in
                try profile.crash()
                #expect(try profile.status().mountPoint == nil)
                #expect(try profile.check().damage.isEmpty)
                umount2(profile.point, Int32(MNT_DETACH))
            }
        }
    }
}
