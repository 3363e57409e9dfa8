import Foundation
import Testing

extension MountTests {
    /// People who each have a mount, and share a folder as their remote.
    @Suite struct SharingTests {
        @Test func eachMemberSeesTheOthersChanges() throws {
            try withMembers { members in
                let (alice, bob) = (members.alice, members.bob)
                try Files.makeDirectory(alice.path("2026"))
                try Files.write("first", to: alice.path("2026/plan"))
                members.expect("first", in: "2026/plan")
                let bytes = pattern(3_000_000)
                try Files.write(bytes, to: alice.path("recording"))
                members.expect(bytes, in: "recording")
                try Files.move(bob.path("2026"), to: bob.path("this year"))
                members.expect("first", in: "this year/plan")
                try Files.write("second", to: bob.path("this year/plan"))
                members.expect("second", in: "this year/plan")
                try Files.remove(bob.path("recording"))
                #expect(Processes.waitUntil { !Files.exists(alice.path("recording")) })
                try follow("this year/plan", members)
                try members.sync()
                for member in members.all { #expect(try Files.names(member.path()) == ["this year"]) }
            }
        }

        /// Bob follows a file that Alice appends to, through descriptors that stay open.
        private func follow(_ name: String, _ members: Members) throws {
            let (theirs, ours) = (members.alice.path(name), members.bob.path(name))
            var expected = try Files.read(ours)
            let reader = open(ours, O_RDONLY | O_CLOEXEC)
            try Files.check(reader, ours)
            defer { close(reader) }
            let program = try #require(Machine.path("tail"))
            let tail = try Child(Command(program, ["-n", "+1", "-f", "-s", "0.05", ours]))
            defer {
                kill(tail.process, SIGKILL)
                _ = try? tail.wait()
            }
            let writer = open(theirs, O_WRONLY | O_APPEND | O_CLOEXEC)
            try Files.check(writer, theirs)
            defer { close(writer) }
            for number in 1...3 {
                let line = Array("line \(number)\n".utf8)
                try Files.append(line, to: writer, theirs)
                // The kernel keeps written pages for half a minute unless it is told to flush them.
                try Files.check(fsync(writer), theirs)
                try tail.waitForLine("line \(number)")
                expected += line
            }
            var bytes = [UInt8](repeating: 0, count: 100)
            let count = pread(reader, &bytes, bytes.count, 0)
            #expect(Array(bytes.prefix(count)) == expected)
            // A rewritten file is a new file, and whoever has the old one open keeps it.
            try Files.write("anew", to: theirs)
            members.expect("anew", in: name)
            #expect(Array(bytes.prefix(pread(reader, &bytes, bytes.count, 0))) == expected)
        }

        /// A program changes bytes that another device has appended, and goes on in the same file.
        @Test func whatWasAppendedCanBeChangedInPlace() throws {
            try withMembers { members in
                let (alice, bob) = (members.alice, members.bob)
                try Files.write("", to: alice.path("file"))
                members.expect("", in: "file")
                let file = open(bob.path("file"), O_RDWR | O_CLOEXEC)
                try Files.check(file, bob.path("file"))
                defer { close(file) }
                try Files.write("one two", to: alice.path("file"))
                members.expect("one two", in: "file")
                // At the moment in which it is shown, it would become a version of its own.
                usleep(100_000)
                let bytes = Array("1".utf8)
                try Files.check(pwrite(file, bytes, bytes.count, 0), bob.path("file"))
                try Files.check(fsync(file), bob.path("file"))
                try members.sync()
                for member in members.all { #expect(try Files.names(member.path()) == ["file"]) }
                members.expect("1ne two", in: "file")
            }
        }

        /// The size of a file, without reading it; 0 if there is none.
        private func size(_ path: String) -> Int {
            var attributes = stat()
            return stat(path, &attributes) == 0 ? Int(attributes.st_size) : 0
        }

        /// Bob's append has its place, and waits for its bytes, while what Alice has appended is shown to him.
        @Test func whatIsAppendedMeanwhileIsKeptBeside() throws {
            try withMembers(["Alice", "Bob", "Carol"]) { members in
                let (alice, bob, carol) = (members.alice, members.bob, members.all[2])
                try Files.write("", to: alice.path("log"))
                try Files.write("his", to: alice.path("bytes"))
                members.expect("", in: "log")
                #expect(Processes.waitUntil { size(carol.path("bytes")) == 3 })
                // Bob writes from a page of Carol's mount that the kernel does not have, and she does not answer.
                let source = open(carol.path("bytes"), O_RDONLY | O_CLOEXEC)
                try Files.check(source, carol.path("bytes"))
                defer { close(source) }
                let page = try #require(mmap(nil, 4096, PROT_READ, MAP_SHARED, source, 0))
                try #require(page != MAP_FAILED)
                defer { munmap(page, 4096) }
                let process = try #require(carol.profile.process)
                #expect(kill(process, SIGSTOP) == 0)
                defer { kill(process, SIGCONT) }
                let bytes = Int(bitPattern: page)
                let path = bob.path("log")
                let writer = Thread {
                    let log = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
                    _ = write(log, UnsafeRawPointer(bitPattern: bytes), 3)
                    close(log)
                }
                writer.start()
                usleep(300_000)
                #expect(!writer.isFinished)
                try Files.write("hers", to: alice.path("log"))
                try alice.sync()
                #expect(Processes.waitUntil { size(path) == 4 })
                usleep(300_000)
                #expect(!writer.isFinished)
                kill(process, SIGCONT)
                #expect(Processes.waitUntil { writer.isFinished })
                let areAllHere = try (0..<10).contains { _ in
                    try members.sync()
                    return try members.all.allSatisfy { try Files.names($0.path()).count == 3 }
                }
                #expect(areAllHere)
                for member in members.all {
                    let names = try Files.names(member.path()).filter { $0.hasPrefix("log") }
                    let texts = try names.map { try Files.text(member.path($0)) }
                    #expect(Set(texts) == ["hers", "hiss"])
                }
            }
        }

        /// A reader sees the vault from its beginning, and cannot change it until it gets another role.
        @Test func aReaderOnlyReads() throws {
            try withMembers(role: "reader") { members in
                let (alice, bob) = (members.alice, members.bob)
                try Files.write("one", to: alice.path("file"))
                members.expect("one", in: "file")
                let changes: [() throws -> Void] = [
                    { try Files.write("two", to: bob.path("file")) },
                    { try Files.write("", to: bob.path("new")) },
                    { try Files.makeDirectory(bob.path("directory")) },
                    { try Files.remove(bob.path("file")) },
                    { try Files.move(bob.path("file"), to: bob.path("other")) },
                ]
                for change in changes { #expect(try errorNumber(change) == EROFS) }
                try alice.coffer("member", "role", "Plans", "Bob", "writer").succeed()
                try members.sync()
                try Files.write("two", to: bob.path("file"))
                members.expect("two", in: "file")
                try alice.coffer("member", "role", "Plans", "Bob", "reader").succeed()
                try members.sync()
                for change in changes { #expect(try errorNumber(change) == EROFS) }
                members.expect("two", in: "file")
            }
        }

        /// Pages that the kernel still holds when the right to write ends are set aside.
        @Test func pagesInTheKernelAreSetAside() throws {
            try withMembers { members in
                let (alice, bob) = (members.alice, members.bob)
                bob.profile.expectsProblems = true
                try Files.write("one", to: alice.path("file"))
                members.expect("one", in: "file")
                let file = open(bob.path("file"), O_WRONLY | O_CLOEXEC)
                try Files.check(file, bob.path("file"))
                defer { close(file) }
                // At the moment in which it is shown, it would become a version of its own.
                usleep(100_000)
                let bytes = Array("two".utf8)
                try Files.check(pwrite(file, bytes, bytes.count, 0), bob.path("file"))
                try alice.coffer("member", "role", "Plans", "Bob", "reader").succeed()
                let point = bob.profile.point
                let isAside = Processes.waitUntil {
                    _ = try? bob.sync()
                    let names = (try? Files.names(point)) ?? []
                    return names.contains {
                        $0.hasPrefix("Plans (not sent, ") && (try? Files.text("\(point)/\($0)/file")) == "two"
                    }
                }
                #expect(isAside, "\((try? Files.names(point)) ?? [])")
                members.expect("one", in: "file")
                #expect(try errorNumber { try Files.write("three", to: bob.path("file")) } == EROFS)
                // One more vault is open.
                try bob.profile.noteMounted()
            }
        }

        /// Without a mount nothing is synced, and `coffer status` does not claim that it was.
        @Test func whatWasNotSyncedIsNotCalledSynced() throws {
            try withMembers { members in
                let bob = members.bob
                try members.sync()
                #expect(try bob.coffer("status").succeed().output.contains(" synced"))
                try bob.profile.unmount()
                let status = try bob.profile.command("status").succeed().output
                #expect(status.contains("nothing to send") && !status.contains(" synced"), "\(status)")
                try bob.mount()
            }
        }

        /// Programs that watch hear of all that changed, and of a remote that is away until it is back.
        @Test func watchingReportsEachChange() throws {
            try withMembers { members in
                let (alice, bob) = (members.alice, members.bob)
                let watch = try Child(try alice.coffer("sync", "--watch", "--json", "Plans"))
                defer { kill(watch.process, SIGKILL) }
                let first = try Watched(try watch.waitForLines(1)[0])
                try Files.write("one", to: bob.path("file"))
                try bob.sync()
                let next = try Watched(try watch.waitForLines(2)[1])
                #expect(next != first)
                try alice.lead(to: alice.way)
                try watch.waitForError(alice.way)
                try alice.lead(to: members.folder)
                try Files.write("two", to: bob.path("file"))
                try bob.sync()
                let last = try Watched(try watch.waitForLines(3)[2])
                #expect(last != next)
            }
        }

        /// Removed members keep what they have, and get nothing new; the others go on.
        @Test func removedMembersReadNothingNew() throws {
            try withMembers(["Alice", "Bob", "Carol"]) { members in
                let (alice, bob, carol) = (members.alice, members.bob, members.all[2])
                bob.profile.expectsProblems = true
                try Files.write("before", to: alice.path("before"))
                members.expect("before", in: "before")
                try alice.coffer("member", "remove", "--yes", "Plans", "Bob").succeed()
                try Files.write("by Alice", to: alice.path("by Alice"))
                try alice.sync()
                try carol.sync()
                try Files.write("by Carol", to: carol.path("by Carol"))
                try carol.sync()
                try alice.sync()
                for person in [alice, carol] {
                    #expect(try Files.text(person.path("by Alice")) == "by Alice")
                    #expect(try Files.text(person.path("by Carol")) == "by Carol")
                }
                let refused = try bob.coffer("sync", "Plans").fail(with: 77)
                #expect(refused.error.contains("removed you"))
                #expect(try Files.names(bob.path()) == ["before"])
                #expect(try Files.text(bob.path("before")) == "before")
                // Bob lacks the keys: it is not his program that hides the new content.
                try bob.profile.unmount()
                try bob.mount()
                try bob.coffer("sync", "Plans").fail(with: 77)
                #expect(try Files.names(bob.path()) == ["before"])
            }
        }

        /// An invite admits one person, with exactly the role that it names.
        @Test func invites() throws {
            try withMembers(["Alice"]) { members in
                let invite = try members.alice.invite(as: "reader")
                try withProfile(mounted: "rw") { carol in
                    let altered = String(invite.dropLast(8) + String(invite.suffix(8).reversed()))
                    try carol.command("join", altered).fail(with: 65)
                    try carol.command("join", "hello").fail(with: 65)
                    try carol.command("join", invite, "--as", "Plans").succeed()
                    // A mount that shares has more descriptors open.
                    try carol.noteMounted()
                }
                try members.alice.sync()
                try withProfile(mounted: "rw") { dora in
                    try dora.command("join", invite, "--as", "Plans").fail(with: 77)
                    try dora.noteMounted()
                    #expect(try Files.names(dora.point) == ["Personal"])
                }
            }
        }
    }
}

/// What `coffer sync --watch --json` prints of a vault, in part.
private struct Watched: Decodable, Equatable {
    struct Device: Decodable, Equatable {
        let label: String
        let commit: UInt64
    }

    let vault: String
    let devices: [Device]

    init(_ line: String) throws {
        self = try JSONDecoder().decode(Watched.self, from: Data(line.utf8))
    }
}
