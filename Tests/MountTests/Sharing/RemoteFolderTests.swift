import Foundation
import Testing

extension MountTests {
    /// Failures of the folder that is the remote, and of mounts that send and fetch.
    @Suite struct RemoteFolderTests {
        /// Both sides crash during a transfer; afterwards both have everything, whole.
        @Test func crashesInMidTransferLoseNothing() throws {
            try withMembers { members in
                let (alice, bob) = (members.alice, members.bob)
                let bytes = pattern(64_000_000)
                let large = try crashWhileSending(bytes, members)
                try alice.mount()
                #expect(Processes.waitUntil { size(bob.path(large)) == bytes.count })
                _ = try Files.read(bob.path(large), at: 1_000_000, count: 1)
                try bob.profile.crash()
                try bob.mount()
                try Files.write("and more", to: bob.path("more"))
                try members.sync()
                let isSame = try Files.read(bob.path(large)) == bytes
                #expect(isSame)
                members.expect("and more", in: "more")
            }
        }

        /// What the remote has again is no longer reported, and monitoring ends its alarm.
        @Test func findingsEndWithTheirCause() throws {
            try withMembers { members in
                let (alice, bob) = (members.alice, members.bob)
                // That the remote had lost something stays in the status as a repair.
                bob.profile.expectsProblems = true
                try Files.write("one", to: alice.path("file"))
                members.expect("one", in: "file")
                try members.sync()
                try bob.coffer("status", "--exit-code").succeed()
                // Then nobody puts back her commit.
                try alice.profile.unmount()
                let logs = Dictionary(
                    grouping: try Files.all(below: members.folder).filter { $0.contains("/log/") }
                ) { $0.split(separator: "/").dropLast() }
                let last = logs.values.compactMap { $0.max() }
                #expect(last.count == 2)
                let away = "\(alice.profile.base)/away"
                try Files.makeDirectory(away)
                for (number, commit) in last.enumerated() { try Files.move(commit, to: "\(away)/\(number)") }
                let code = { () -> Int32? in
                    _ = try? bob.coffer("sync", "Plans").run()
                    return try? bob.coffer("status", "--exit-code").run().status
                }
                #expect(Processes.waitUntil { code() == 65 })
                for (number, commit) in last.enumerated() { try Files.move("\(away)/\(number)", to: commit) }
                let hasEnded = Processes.waitUntil { code() == 0 }
                let status = try bob.coffer("status").run().output
                #expect(hasEnded, "\(status)")
            }
        }

        /// The status names a full remote and what waits for it; once there is room, the remote is used again.
        @Test(.enabled(if: Machine.hasLoopDevices, "an ext4 of its own takes root and loop devices"))
        func aFullRemoteIsNamed() throws {
            try LoopDisk.with(megabytes: 64) { disk in
                try withMembers(["Alice"], folder: "\(disk)/remote") { members in
                    let alice = members.alice
                    let ballast = "\(disk)/ballast"
                    try Files.write(pattern(40_000_000), to: ballast, durably: true)
                    try Files.write(pattern(30_000_000), to: alice.path("large"), durably: true)
                    try alice.coffer("sync", "Plans").fail(with: 74)
                    // A round in the background may have just begun.
                    var status = ""
                    let isNamed = Processes.waitUntil {
                        status = (try? alice.coffer("status").succeed().output) ?? ""
                        return status.contains("remote full: ") && status.contains("Free space there")
                            && status.contains("the remote is full: file://\(alice.way)")
                    }
                    #expect(isNamed, "\(status)")
                    try Files.remove(ballast)
                    #expect(
                        Processes.waitUntil { (try? alice.coffer("sync", "Plans").run().status) == 0 })
                    let after = try alice.coffer("status").succeed().output
                    #expect(!after.contains("remote full") && !after.contains("is full"), "\(after)")
                }
            }
        }

        /// Crashes Alice's mount while it sends a file with the given bytes, and returns the name of the file.
        private func crashWhileSending(_ bytes: [UInt8], _ members: Members) throws -> String {
            let (alice, bob) = (members.alice, members.bob)
            // On a busy machine, the transfer may end before the crash.
            for attempt in 1...10 {
                let (name, sent) = ("large \(attempt)", packs(members))
                try Files.write(bytes, to: alice.path(name), durably: true)
                #expect(Processes.waitUntil { packs(members) > sent }, "the transfer has to begin")
                try alice.profile.crash()
                try bob.sync()
                // A file that is being written may be visible already, without its content.
                if size(bob.path(name)) < bytes.count { return name }
                try alice.mount()
            }
            return try #require(nil, "no crash was in mid-transfer")
        }

        /// 0 for a file that is not there.
        private func size(_ path: String) -> Int {
            var status = stat()
            return stat(path, &status) == 0 ? status.st_size : 0
        }

        private func packs(_ members: Members) -> Int {
            let files = (try? Files.all(below: members.folder)) ?? []
            return files.count { $0.contains("/packs/") }
        }
    }

    /// A folder that belongs to another user.
    @Suite(.enabled(if: Machine.isRoot && Machine.has("setpriv"), "acting as another user takes root"))
    struct OtherUsersFolderTests {
        /// Another user's `coffer remote test`, which needs no profile.
        ///
        /// The system's database has group 65534 for the user.
        private func test(_ folder: String, _ base: String, group: Int = 65534) throws -> Command.Result {
            let setpriv = try #require(Machine.path("setpriv"))
            let program = "\(base)/coffer"
            if !Files.exists(program) { try Command("/bin/cp", [try Programs.coffer(), program]).succeed() }
            return try Command(
                setpriv,
                ["--reuid=65534", "--regid=\(group)", "--clear-groups", program, "remote", "test", folder]
            ).run()
        }

        @Test func foreignOwnerIsNamed() throws {
            try withProfile(mounted: nil) { profile in
                let folder = "\(profile.base)/folder of root"
                try Files.makeDirectory(folder)
                let refused = try test(folder, profile.base)
                #expect(refused.status == 74, "\(refused.error)")
                #expect(refused.output.contains("\(folder), which belongs to root"), "\(refused.output)")
                #expect(chmod(folder, 0o777) == 0)
                let taken = try test(folder, profile.base)
                #expect(taken.status == 0, "\(taken.output)\(taken.error)")
                #expect(try Files.names(folder).isEmpty)
            }
        }

        /// A process keeps the groups of its login; what helps depends on who is in the group.
        @Test func groupsOfAnEarlierLogin() throws {
            try withProfile(mounted: nil) { profile in
                let folder = "\(profile.base)/team"
                try Files.makeDirectory(folder)
                for (group, advice) in [
                    (65534 as gid_t, "this program began before that: log in again"),
                    (4711, "Members of the group 4711 may: let root add"),
                ] {
                    #expect(chown(folder, 4712, group) == 0 && chmod(folder, 0o2770) == 0)
                    let refused = try test(folder, profile.base, group: 65533)
                    #expect(refused.status == 74)
                    #expect(
                        refused.output.contains("\(folder), which belongs to 4712, group ")
                            && refused.output.contains("mode 2770. ") && refused.output.contains(advice),
                        "\(refused.output)")
                    // The reason is given once.
                    #expect(refused.lines.count { $0.contains("which belongs to") } == 1, "\(refused.output)")
                }
                #expect(chown(folder, 4712, 65534) == 0 && chmod(folder, 0o2770) == 0)
                #expect(try test(folder, profile.base).status == 0)
            }
        }

        /// A directory above the folder is named if it is the one that is in the way.
        @Test func aPrivateDirectoryAboveIsNamed() throws {
            try withProfile(mounted: nil) { profile in
                let home = "\(profile.base)/home of another"
                try Files.makeDirectory(home)
                try Files.makeDirectory("\(home)/folder")
                #expect(chown(home, 4712, 4712) == 0 && chmod(home, 0o700) == 0)
                let refused = try test("\(home)/folder", profile.base)
                #expect(refused.status == 74)
                #expect(
                    refused.output.contains("may not enter \(home), which belongs to 4712"),
                    "\(refused.output)")
            }
        }

        @Test func whatKeepsUsersFromEachOthersFilesIsNoted() throws {
            try withProfile(mounted: nil) { profile in
                let folder = "\(profile.base)/drop"
                try Files.makeDirectory(folder)
                #expect(chown(folder, 4712, 4712) == 0 && chmod(folder, 0o1777) == 0)
                let sticky = try test(folder, profile.base)
                #expect(sticky.status == 0 && sticky.output.contains("Note: \(folder) belongs to 4712"))
                #expect(chmod(folder, 0o777) == 0)
                let plain = try test(folder, profile.base)
                #expect(!plain.output.contains("Note"), "\(plain.output)")
                guard let setfacl = Machine.path("setfacl") else { return }
                #expect(chmod(folder, 0o700) == 0)
                let isSet =
                    try Command(setfacl, ["-m", "u:65534:rwx,d:u:65534:rwx", folder]).run().status == 0
                guard isSet else { return }
                let excluded = try test(folder, profile.base)
                #expect(
                    excluded.status == 0 && excluded.output.contains("Note: 4712 cannot use what others put"),
                    "\(excluded.output)")
            }
        }
    }

    /// A folder on a disk that is full, read-only, or not mounted.
    @Suite(.enabled(if: Machine.hasLoopDevices, "an ext4 of its own takes root and loop devices"))
    struct RemoteDiskTests {
        /// Changes that cannot be sent stay, and are sent once it is possible.
        @Test func unsentChangesStay() throws {
            try LoopDisk.with(megabytes: 40) { disk in
                try withMembers(folder: disk) { members in
                    let alice = members.alice
                    for member in members.all { member.profile.expectsProblems = true }
                    let ballast = "\(disk)/ballast"
                    #expect(try errorNumber { try Files.write(pattern(60 << 20), to: ballast) } == ENOSPC)
                    let bytes = pattern(4 << 20, seed: 2)
                    try Files.write(bytes, to: alice.path("file"))
                    try expectUnsynced(alice, "full")
                    #expect(try Files.read(alice.path("file")) == bytes)
                    try Files.remove(ballast)
                    try members.sync()
                    members.expect(bytes, in: "file")

                    let mount = try #require(Machine.path("mount"))
                    try Command(mount, ["-o", "remount,ro", disk]).succeed()
                    try Files.write("read-only", to: alice.path("file"))
                    try expectUnsynced(alice, "is read-only")
                    try Command(mount, ["-o", "remount,rw", disk]).succeed()
                    try members.sync()
                    members.expect("read-only", in: "file")

                    // In place of the disk there is an empty directory; the mount puts nothing into it.
                    let other = "\(alice.profile.base)/other"
                    try Files.makeDirectory(other)
                    try Command(mount, ["--move", disk, other]).succeed()
                    try Files.write("away", to: alice.path("file"))
                    try expectUnsynced(alice, "perhaps it is not mounted")
                    #expect(try Files.names(disk).isEmpty)
                    try Command(mount, ["--move", other, disk]).succeed()
                    try members.sync()
                    members.expect("away", in: "file")
                }
            }
        }

        /// A change of members that waits is shown with the command that cancels it; one that failed is named so.
        @Test func aChangeOfMembersThatWaits() throws {
            try LoopDisk.with(megabytes: 40) { disk in
                try withMembers(folder: disk) { members in
                    let alice = members.alice
                    for member in members.all { member.profile.expectsProblems = true }
                    try members.sync()
                    let mount = try #require(Machine.path("mount"))
                    try Command(mount, ["-o", "remount,ro", disk]).succeed()
                    let command = "coffer member cancel Plans Bob"
                    let removal = try alice.coffer("member", "remove", "--yes", "Plans", "Bob").fail(with: 75)
                    #expect(removal.error.contains(command), "\(removal.error)")
                    let list = try alice.coffer("member", "list", "Plans").succeed().output
                    #expect(list.contains("removing Bob waits") && list.contains(command), "\(list)")
                    try alice.profile.unmount()
                    let status = try alice.profile.command("status", "--json").succeed().output
                    #expect(status.contains("removing Bob waits") && status.contains(command), "\(status)")
                    try alice.profile.command("member", "cancel", "Plans", "Bob").succeed()
                    try alice.profile.command("member", "cancel", "Plans", "Bob").fail(with: 66)
                    try Command(mount, ["-o", "remount,rw", disk]).succeed()
                    try alice.lead(to: "\(disk)/missing")
                    let failed = try alice.profile.command("member", "role", "Plans", "Bob", "reader")
                        .fail(with: 74)
                    #expect(failed.error.contains("members of “Plans” were not changed"), "\(failed.error)")
                    try alice.lead(to: disk)
                    try alice.mount()
                    try members.sync()
                }
            }
        }

        private func expectUnsynced(_ member: Member, _ reason: String) throws {
            let result = try member.coffer("sync", "Plans").fail(with: 74)
            #expect(result.error.contains(reason))
        }
    }
}
