import Foundation
import Testing

extension MountTests {
    /// kill -9 of the process behind the mount.
    @Suite struct CrashTests {
        @Test func whatIsDurableOutlivesCrashes() throws {
            try withMountedProfile { profile in
                for round in 1...5 {
                    let (directory, manifest) = (
                        profile.path("round-\(round)"), "\(profile.base)/manifest-\(round)"
                    )
                    try Files.makeDirectory(directory)
                    let seed = "\(UInt32.random(in: 1...1_000_000))"
                    print("crash round \(round), seed \(seed)")
                    let writer = try Child(
                        Command(
                            try Programs.workload(), ["write-manifest", directory, manifest, "--seed", seed]))
                    let wanted = 40 + Int.random(in: 0..<60)
                    #expect(Processes.waitUntil { self.changes(in: manifest) >= wanted }, "seed \(seed)")
                    try profile.crash()
                    #expect(try writer.wait().status == 3, "the writer has to meet the crash")
                    try profile.mount()
                    let checker = Command(try Programs.workload(), ["check-manifest", directory, manifest])
                    let result = try checker.run()
                    #expect(result.status == 0, "seed \(seed): \(result.output)")
                    #expect(try profile.check().damage.isEmpty, "seed \(seed)")
                }
            }
        }

        /// Durable changes so far.
        private func changes(in manifest: String) -> Int {
            (try? Files.text(manifest))?.split(separator: "\n").count { $0 == "done" } ?? 0
        }

        /// The kernel may remember the root of the dead mount, and answer for it.
        @Test(arguments: [true, false])
        func deadMountIsMended(isRemembered: Bool) throws {
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

        /// Commands must not take the socket of a dead mount for a mount.
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
