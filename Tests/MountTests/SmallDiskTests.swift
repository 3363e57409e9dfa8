import Foundation
import Testing

extension MountTests {
    /// A profile on a disk that is small, or nearly full from the start.
    @Suite(.enabled(if: Machine.hasLoopDevices, "an ext4 of its own takes root and loop devices"))
    struct SmallDiskTests {
        private func exitCode(_ profile: MountedProfile) throws -> Int32 {
            try profile.command("status", "--exit-code").run().status
        }

        /// Removing makes room again and again, and unmounting stores everything.
        @Test func removingMakesRoom() throws {
            try LoopDisk.with(megabytes: 30) { disk in
                try withProfile(mounted: "rw", disk: disk) { profile in
                    profile.expectsProblems = true
                    #expect(try #require(try profile.status().disk?.reserve) >= 1 << 20)
                    for index in 0..<6 {
                        try Files.write(
                            pattern(1 << 20, seed: UInt64(index)), to: profile.path("\(index)"), durably: true
                        )
                    }
                    for index in 0..<4 {
                        try FullDisk.fill(disk, profile, keepsReserve: true)
                        try Files.remove(profile.path("\(index)"))
                        #expect(
                            Processes.waitUntil(seconds: 20) { FullDisk.freeBytes(disk) >= 512 << 10 },
                            "\(index)")
                        #expect(
                            Processes.waitUntil(seconds: 20) {
                                (try? profile.status().disk?.reserve ?? 0) ?? 0 > 0
                            },
                            "\(index)")
                    }
                    try FullDisk.fill(disk, profile, keepsReserve: true)
                    try Files.remove(profile.path("4"))
                    try profile.unmount()
                    try profile.mount()
                    #expect(try Files.names(profile.vault) == ["5"])
                    #expect(try Files.read(profile.path("5")) == pattern(1 << 20, seed: 5))
                    #expect(try profile.check().damage.isEmpty)
                }
            }
        }

        /// Changes that wait for space are an error of the disk, and no longer one once they are stored.
        @Test func statusSaysWhatWaitsForSpace() throws {
            try LoopDisk.with(megabytes: 30) { disk in
                try withProfile(mounted: "rw", disk: disk) { profile in
                    try FullDisk.remove(150, of: 200, on: disk, profile)
                    #expect(
                        Processes.waitUntil(seconds: 20) {
                            (try? profile.status().problems.contains { $0.text.contains("not be stored") })
                                ?? false
                        })
                    #expect(try exitCode(profile) == 74)
                    let status = try profile.command("status").succeed().output
                    #expect(status.contains("not stored yet: "))
                    #expect(status.contains("no room for a reserve"))
                    try Files.remove("\(disk)/ballast")
                    #expect(Processes.waitUntil(seconds: 20) { (try? exitCode(profile)) == 0 })
                    #expect(try profile.status().problems.isEmpty)
                    #expect(!(try profile.command("status").succeed().output.contains("no room for")))
                }
            }
        }
    }
}
