import Foundation
import Testing

extension MountTests {
    /// A profile on a full disk.
    @Suite(.enabled(if: Machine.hasLoopDevices, "an ext4 of its own takes root and loop devices"))
    struct FullDiskTests {
        /// Writes files of 1 MiB until an error; returns the number of whole files, and the error.
        private func fill(_ profile: MountedProfile) throws -> (count: Int, error: Int32) {
            for index in 0..<200 {
                let error = try errorNumber {
                    try Files.write(
                        pattern(1 << 20, seed: UInt64(index)), to: profile.path("fill-\(index)"),
                        durably: true)
                }
                if error != 0 { return (index, error) }
            }
            return (200, 0)
        }

        private func expectAll(_ profile: MountedProfile, count: Int) throws {
            for index in 0..<count {
                #expect(
                    try Files.read(profile.path("fill-\(index)")) == pattern(1 << 20, seed: UInt64(index)),
                    "fill-\(index)")
            }
            for index in 0..<200 {
                #expect(try Files.text(profile.path("small/\(index)")) == "small \(index)")
            }
        }

        @Test func writerGetsAnErrorAndNothingIsLost() throws {
            try LoopDisk.with(megabytes: 80) { disk in
                try withProfile(mounted: "rw", disk: disk) { profile in
                    profile.expectsProblems = true
                    try Files.makeDirectory(profile.path("small"))
                    for index in 0..<200 {
                        try Files.write("small \(index)", to: profile.path("small/\(index)"))
                    }
                    let (count, error) = try fill(profile)
                    #expect(error == ENOSPC)
                    #expect(count > 20)
                    try expectAll(profile, count: count)
                    // Full a second time, after a remount.
                    try profile.remount()
                    try expectAll(profile, count: count)
                    #expect(try fill(profile).error == ENOSPC)
                    // Removing a file works when nothing else does, and makes room.
                    for index in 0..<count { try Files.remove(profile.path("fill-\(index)")) }
                    let path = profile.path("after")
                    #expect(
                        Processes.waitUntil {
                            (try? Files.write(pattern(4 << 20, seed: 99), to: path, durably: true)) != nil
                        })
                    try profile.remount()
                    #expect(try Files.read(path) == pattern(4 << 20, seed: 99))
                    try expectAll(profile, count: 0)
                    #expect(try profile.check().damage.isEmpty)
                    #expect(try profile.status().vaults.first?.stopped == nil)
                }
            }
        }

        /// An unmount that succeeds loses nothing that programs were told is stored.
        @Test func unmountThatCannotStoreIsRefused() throws {
            try LoopDisk.with(megabytes: 64) { disk in
                try withProfile(mounted: "rw", disk: disk) { profile in
                    try FullDisk.remove(300, of: 400, on: disk, profile)
                    let result = try profile.command("unmount", profile.point).fail(with: 74)
                    #expect(result.error.contains("--force"))
                    #expect(try Files.names(profile.vault).count == 100)
                    try Files.remove("\(disk)/ballast")
                    try profile.remount()
                    #expect(try Files.names(profile.vault).count == 100)
                    // The changes are now given up.
                    try FullDisk.fill(disk, profile)
                    for index in 300..<400 { try Files.remove(profile.path("\(index)")) }
                    try profile.command("unmount", "--force", profile.point).succeed()
                    profile.expectEnded()
                    try Files.remove("\(disk)/ballast")
                    try profile.mount()
                    #expect(try profile.check().damage.isEmpty)
                    #expect(try Files.names(profile.vault).count == 100)
                }
            }
        }

        /// umount(8) cannot be refused; the lock file names the loss for commands that look there.
        @Test func aFailureAtTheEndIsLeftInTheLock() throws {
            try LoopDisk.with(megabytes: 64) { disk in
                try withProfile(mounted: "rw", disk: disk) { profile in
                    try FullDisk.remove(300, of: 400, on: disk, profile)
                    #expect(umount2(profile.point, 0) == 0)
                    profile.expectEnded()
                    #expect(try profile.lockNote().first?.contains("no space") == true)
                    try Files.remove("\(disk)/ballast")
                    try profile.mount()
                    #expect(try profile.check().damage.isEmpty)
                }
            }
        }

        /// Removing makes room after other programs took the last block, and ending the mount loses nothing.
        @Test func removingMakesRoom() throws {
            try LoopDisk.with(megabytes: 80) { disk in
                try withProfile(mounted: "rw", disk: disk) { profile in
                    profile.expectsProblems = true
                    for index in 0..<200 { try Files.write("\(index)", to: profile.path("\(index)")) }
                    for index in 0..<16 {
                        try Files.write(
                            pattern(1 << 20, seed: UInt64(index)), to: profile.path("large-\(index)"),
                            durably: true)
                    }
                    try profile.remount()
                    try FullDisk.fill(disk, profile, keepsReserve: true)
                    for index in 0..<12 { try Files.remove(profile.path("large-\(index)")) }
                    #expect(Processes.waitUntil { FullDisk.freeBytes(disk) >= 12 << 20 })
                    // Without its reserve, the profile is small.
                    for index in 0..<100 { try Files.remove(profile.path("\(index)")) }
                    try profile.remount()
                    #expect(try Files.names(profile.vault).count == 104)
                    for index in 12..<16 {
                        let bytes = try Files.read(profile.path("large-\(index)"))
                        #expect(bytes == pattern(1 << 20, seed: UInt64(index)))
                    }
                    // With plenty of room there is a reserve again.
                    try Files.remove("\(disk)/ballast")
                    #expect(
                        Processes.waitUntil {
                            _ = try? Files.write("x", to: profile.path("another"), durably: true)
                            return Files.exists("\(profile.home)/reserve")
                        })
                    #expect(try profile.check().damage.isEmpty)
                }
            }
        }

        /// A full disk prevents neither reading nor later removals.
        @Test func nobodyIsLockedOut() throws {
            try LoopDisk.with(megabytes: 64) { disk in
                try withProfile(mounted: "rw", disk: disk) { profile in
                    profile.expectsProblems = true
                    for index in 0..<10 {
                        try Files.write(
                            pattern(1 << 20, seed: UInt64(index)), to: profile.path("\(index)"), durably: true
                        )
                    }
                    try profile.unmount()
                    try FullDisk.fill(disk, profile, keepsReserve: true)
                    #expect(try profile.command("vault", "list").succeed().output.contains("Personal"))
                    #expect(try profile.check().damage.isEmpty)
                    for options in ["ro", nil] {
                        try profile.mount(options)
                        for index in 0..<10 {
                            let bytes = try Files.read(profile.path("\(index)"))
                            #expect(bytes == pattern(1 << 20, seed: UInt64(index)))
                        }
                        try profile.unmount()
                    }
                    try profile.mount()
                    for index in 0..<9 { try Files.remove(profile.path("\(index)")) }
                    #expect(Processes.waitUntil { FullDisk.freeBytes(disk) >= 8 << 20 })
                    try profile.remount()
                    #expect(try Files.names(profile.vault) == ["9"])
                }
            }
        }

        /// Another program fills the disk to the last block when the index has to grow.
        @Test func everyBlockIsUsed() throws {
            try LoopDisk.with(megabytes: 64) { disk in
                try withProfile(mounted: "rw", disk: disk) { profile in
                    profile.expectsProblems = true
                    try Files.makeDirectory(profile.path("small"))
                    for index in 0..<200 {
                        try Files.write(
                            "small \(index)", to: profile.path("small/\(index)"), durably: index == 199)
                    }
                    try FullDisk.fill(disk, profile, keepsReserve: true)
                    let written = try errorNumber {
                        try Files.write(pattern(200_000), to: profile.path("more"), durably: true)
                    }
                    #expect(written == ENOSPC)
                    try expectAll(profile, count: 0)
                    // The reserve is for removals: writes do not use it.
                    #expect(Files.exists("\(profile.home)/reserve"))
                    try Files.remove("\(disk)/ballast")
                    let path = profile.path("after")
                    #expect(
                        Processes.waitUntil { (try? Files.write("fine", to: path, durably: true)) != nil })
                    try profile.remount()
                    try expectAll(profile, count: 0)
                    #expect(try Files.text(path) == "fine")
                    #expect(try profile.check().damage.isEmpty)
                }
            }
        }
    }
}
