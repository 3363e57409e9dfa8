import CofferRemote
import CofferSystem
import Foundation
import Testing

@testable import CofferClient

/// Messages between commands and a mount.
@Suite struct ControlMessageTests {
    @Test func requests() throws {
        let requests: [any ControlRequest] = [
            StatusRequest(), ProfileRequest.store, ProfileRequest.end(process: .max),
            VaultRequest.create(name: "Ünï “x”\n/"),
            VaultRequest.rename(name: "", newName: "b"),
            VaultRequest.delete(name: "c"),
            CheckRequest(vault: nil), CheckRequest(vault: "v", remote: .listed),
            CheckRequest(vault: nil, remote: .read),
            ProfileRequest.changePassphrase(old: [0, 255, 10], new: [], hint: nil, passes: 2, memory: .max),
            ProfileRequest.changePassphrase(old: [], new: [1], hint: "h", passes: 0, memory: 0),
            RemoteRequest.add(vault: "v", url: "file:///r"), RemoteRequest.remove(vault: "v"),
            RemoteTestRequest.vault("v"),
            RemoteLoginRequest.find(remote: "v"), RemoteLoginRequest.remove(remote: "s3://b"),
            RemoteLoginRequest.set(remote: "v", user: [1], secret: [2, 3], token: []),
            RemoteTestRequest.url("file:///r"), SyncRequest(vault: nil), SyncRequest(vault: "v"),
            InviteRequest.invite(vault: "v", role: "reader", seconds: .max),
            MemberRequest.withdrawInvite(vault: "v", id: "00ff"),
            InviteRequest.addMember(vault: "v", card: "line\nline", role: "owner"),
            MembersRequest(vault: "v"),
            MemberRequest.setRole(vault: "v", member: "é", role: "admin"),
            MemberRequest.remove(vault: "v", member: "m"),
            RemovalsRequest(vault: "v"), MemberRequest.leave(vault: "v", successor: nil),
            MemberRequest.leave(vault: "v", successor: "m"),
            JoinRequest(invite: "i", name: nil, waits: true),
            JoinRequest(invite: "i", name: "n", remote: "/r", waits: false),
            RemoteRequest.move(vault: "v", url: "/r"),
            MemberRequest.cancelJoin("Shared"), RemoteRequest.remove(vault: "v", contents: .fetch),
            IdentityRequest.show, IdentityRequest.roll,
            VaultRequest.limitCache(vault: "v", to: nil), VaultRequest.limitCache(vault: "v", to: .max),
            IdentityRequest.verify(.member(vault: "v", member: "m"), words: nil),
            IdentityRequest.verify(.card("c"), words: "a b"),
            PinRequest.pin(vault: "v", paths: ["a/b", ""], waits: true), UnpinRequest(vault: "v", paths: []),
            NamesRequest(vault: nil), NamesRequest(vault: "v"), PinRequest.list(vault: nil),
            PinRequest.list(vault: "v"),
            EvictRequest(vault: "v", paths: ["é"]),
            ConflictsRequest(vault: nil), ConflictsRequest(vault: "v"),
            ResolveRequest(vault: "v", path: "a/b", keeps: .original),
            ResolveRequest(vault: "v", path: "a", keeps: .copy),
            HistoryRequest(vault: "v", path: ""), SnapshotRequest.create(vault: "v", name: "é “x”"),
            SnapshotRequest.list(vault: nil), SnapshotRequest.remove(vault: "v", name: ""),
            DifferenceRequest(vault: "v", path: "p", from: .snapshot("s"), to: .time(.max)),
            RestoreRequest(vault: "v", path: "", state: .time(.min), isExact: true),
        ]
        for request in requests {
            let line = try ControlCoding.encode(request.message)
            #expect(line.last == 10 && line.count { $0 == 10 } == 1, "one line")
            let back = try ControlCoding.decode(RequestMessage.self, Array(line.dropLast())).request
            #expect(String(reflecting: back) == String(reflecting: request))
        }
    }

    @Test func responses() throws {
        let vault = VaultReport(
            name: "v", id: "00", created: 1, epoch: 2, isOpen: true, items: 3, contentBytes: .max,
            historySeconds: 60, historyBytes: 5, snapshots: 2, storeBytes: 0, stopped: "reason",
            cacheLimit: 5, sync: nil)
        let damage = VaultCheck.Damage(path: "a/b", from: 0, to: .max, text: "hurt")
        try isKept(ControlResponse<Done>.progress(Progress(done: 1, total: 2, isBytes: true)))
        try isKept(ControlResponse<Done>.failure(code: 74, message: "line\nline"))
        try isKept(Done())
        try isKept(KnownNames(vaults: ["v", "é"], members: [], snapshots: ["s"]))
        try isKept([PinReport(vault: "v", path: "a", files: 1, bytes: .max, missingBytes: 0)])
        try isKept(EvictReport(vault: "v", evictedBytes: 1, kept: [.init(reason: "pinned", bytes: 2)]))
        try isKept(
            StatusReport(
                profile: "/p", name: "n", device: "d", mountPoint: nil, vaults: [vault],
                joins: [AskedJoin(vault: "s", remote: "file:///r", role: "reader", expires: 1)],
                disk: DiskReport(total: 1, available: 2), problems: [ProblemReport(time: 1, text: "p")]))
        var remote = RemoteCheck(remote: "file:///r")
        remote.problems = [
            .init(text: "t", remedy: "r"),
            .init(text: "t", remedy: "r", paths: ["a/b"], files: 2, bytes: .max, localBytes: 0),
        ]
        try isKept(
            CheckReport(vaults: [
                VaultCheck(
                    vault: "v", items: 1, blocks: 2, bytes: 3, isCompared: true, damage: [damage],
                    unchecked: ["u"], remote: remote)
            ]))
        let device = DeviceReport(
            name: "n", label: "l", identity: "00", commit: .max, time: 1, isMembers: true, hasOurs: true,
            isThis: false)
        let sync = SyncReport(
            vault: "v", remote: "file:///r", role: nil, phase: "idle", failure: "f", offlineSince: 4,
            findings: ["g"], unsentItems: 1,
            commitsLeft: 2, lastRound: nil, rotationOwed: "r", oldEpochBytes: 3, devices: [device])
        try isKept([sync])
        try isKept([SyncReport]())
        try isKept("coffer-invite-1:x")
        try isKept(JoinReport(vault: "v", isMember: true, role: "r"))
        try isKept(
            RemoteLoginReport(place: "s3://b", kind: .keys, user: nil, isSet: true, vaults: ["v"]))
        let step = RemoteTestReport.Step(name: "s", milliseconds: 0.25, failure: nil)
        try isKept(RemoteTestReport(remote: "r", steps: [step], shortcomings: ["x"]))
        let member = MembersReport.Member(
            name: "n", role: "owner", identity: "00", fingerprint: "a b", isVerified: true, keys: "expired",
            keysUntil: 2, since: 1, addedBy: nil, isThis: true)
        let invite = MembersReport.OpenInvite(id: "00", role: "r", expires: 1)
        try isKept(MembersReport(members: [member], invites: [invite], rotationOwed: nil))
        let revision = RemovalReport.Revision(device: "n on l", commit: 3)
        try isKept([
            RemovalReport(
                name: "n", identity: "00", removedBy: "m", time: 1, lastEpoch: 2, readable: [revision],
                accepted: [], newBytes: .max, oldBytes: 0)
        ])
        try isKept(
            IdentityReport(name: "n", identity: "00", fingerprint: "a", card: nil, isVerified: false))
        try isKept([ConflictReport(vault: "v", path: "p", original: nil, author: "a", date: "2026-11-20")])
    }

    /// Expects that an answer is the same after it was sent.
    private func isKept<Answer: Codable & Sendable>(_ answer: Answer) throws {
        try isKept(ControlResponse.answer(answer))
    }

    private func isKept<Answer>(_ response: ControlResponse<Answer>) throws {
        let line = try ControlCoding.encode(response)
        let back = try ControlCoding.decode(ControlResponse<Answer>.self, Array(line.dropLast()))
        #expect(String(reflecting: back) == String(reflecting: response))
    }

    /// What an answer of another type is taken for.
    @Test func anotherAnswer() throws {
        let line = try ControlCoding.encode(ControlResponse.answer(Done()))
        let error = clientError { () throws(ClientError) in
            try ControlCoding.decode(ControlResponse<StatusReport>.self, Array(line.dropLast()))
        }
        #expect(error?.caseName == "malformed")
    }

    @Test(arguments: [
        "", "{}", "null", "[1]", "{\"later\":{}}", "{\"status\":", "\u{0}",
        "{\"createVault\":{\"name\":\"v\"}}",
        "{\"vault\":{\"_0\":{\"create\":{\"name\":1}}}}",
    ])
    func nonsense(text: String) {
        let error = clientError { () throws(ClientError) in
            try ControlCoding.decode(RequestMessage.self, Array(text.utf8))
        }
        #expect(error?.caseName == "malformed")
    }

    @Test func lines() throws {
        let ends = try ChildProcess.makePipe()
        defer {
            close(ends.reading)
            close(ends.writing)
        }
        func send(_ text: String) throws {
            try WholeFile.writeAll(Array(text.utf8), to: ends.writing, subject: "pipe")
        }
        func next() throws -> String? {
            try LineReader.read(from: ends.reading, limit: 8).map { String(decoding: $0, as: UTF8.self) }
        }
        try send("one\n\nthree\n")
        #expect(try next() == "one")
        #expect(try next() == "")
        #expect(try next() == "three")
        try send("far too long\n")
        #expect(throws: SystemError.self) { _ = try next() }
    }

    /// Late messages are dropped: the descriptor may belong to another file by then.
    @Test func aReleasedClient() throws {
        let ends = try ChildProcess.makePipe()
        let reader = Descriptor(owning: ends.reading)
        let writer = Descriptor(owning: ends.writing)
        let client = ControlClient(writer.number)
        client.send(ControlResponse.answer(Done()))
        #expect(client.isHearing)
        client.end()
        client.send(ControlResponse<Done>.progress(Progress(done: 1, total: 2)))
        try WholeFile.writeAll([UInt8(ascii: "\n")], to: writer.number, subject: "pipe")
        let line = try #require(try LineReader.read(from: reader.number, limit: 100))
        guard case .answer = try ControlCoding.decode(ControlResponse<Done>.self, line) else {
            Issue.record("another answer")
            return
        }
        #expect(try LineReader.read(from: reader.number, limit: 100) == [], "nothing came after it")
        #expect(!client.isHearing)
    }

    @Test func lastLineWithoutItsEnd() throws {
        let ends = try ChildProcess.makePipe()
        let reader = Descriptor(owning: ends.reading)
        do {
            let writer = Descriptor(owning: ends.writing)
            try WholeFile.writeAll(Array("rest".utf8), to: writer.number, subject: "pipe")
        }
        #expect(try LineReader.read(from: reader.number, limit: 8) == Array("rest".utf8))
        #expect(try LineReader.read(from: reader.number, limit: 8) == nil)
    }
}

/// Commands that reach a profile through the socket of its holder.
@Suite(.serialized) struct ControlServerTests {
    /// Serves the profile as a mount does, without a mount.
    private func withServer(_ body: (TestProfile, String) throws -> Void) throws {
        let test = try TestProfile()
        let vaults = try test.open()
        defer { vaults.close() }
        let handler = ControlHandler(vaults, SharedVaults(vaults), mountPoint: "/m") { _ in }
        let server = try ControlServer(of: try vaults.profile.place(), in: test.location.path, handler)
        let socket = server.path
        try vaults.profile.setLockNote(LockNote(process: 1, mountPoint: "/m", socket: socket))
        try server.start()
        defer { server.stop() }
        try body(test, socket)
    }

    private func access(_ test: TestProfile) throws -> ProfileAccess {
        try ProfileAccess.open(test.location) { () throws(ClientError) in
            Issue.record("the passphrase is asked for, though the profile is open")
            return secret("")
        }
    }

    @Test func requestsAreAnswered() throws {
        try withServer { test, _ in
            let access = try access(test)
            #expect(access.isMounted)
            _ = try access.perform(VaultRequest.create(name: "New"))
            let status = try access.perform(StatusRequest())
            let check = try access.perform(CheckRequest(vault: nil))
            #expect(status.mountPoint == "/m" && status.vaults.map(\.name) == ["Personal", "New"])
            #expect(check.isClean && check.vaults.count == 2)
        }
    }

    @Test func failuresKeepTheirCode() throws {
        try withServer { test, _ in
            let requests: [(any ControlRequest, Int32)] = [
                (VaultRequest.create(name: "Personal"), 73), (VaultRequest.delete(name: "None"), 66),
                (VaultRequest.create(name: "/"), 64),
                (
                    ProfileRequest.changePassphrase(old: [1], new: [2], hint: nil, passes: 2, memory: 65_536),
                    77
                ),
                (ProfileRequest.changePassphrase(old: [1], new: [2], hint: nil, passes: 0, memory: 0), 76),
            ]
            for (request, code) in requests {
                let access = try access(test)
                let error = clientError { () throws(ClientError) in try ask(request, of: access) }
                guard case .control(.answered(code, let message)) = error else {
                    Issue.record("\(request)")
                    continue
                }
                #expect(!message.isEmpty)
            }
        }
    }

    private func ask(_ request: some ControlRequest, of access: ProfileAccess) throws(ClientError) {
        _ = try access.perform(request)
    }

    /// The mount of an older version is told apart by the name of its socket, and nothing is sent to it.
    @Test func anOlderMount() throws {
        try withServer { test, socket in
            let place = try ProfilePlace(of: test.location)
            for name in place.olderSocketNames {
                let older = "\(test.location.path)/\(name)"
                let note = LockNote(process: 1, mountPoint: "/m", socket: older)
                try Data(note.text.utf8).write(to: URL(filePath: test.location.lock), options: [])
                let error = clientError { () throws(ClientError) in
                    try ProfileAccess.open(test.location) { () throws(ClientError) in secret("") }
                }
                #expect(error?.caseName == "olderMount", "\(name)")
            }
        }
    }

    /// Write access to the note of a lock must not give access to passphrases.
    @Test func aSocketThatNoMountMadeIsRefused() throws {
        try withServer { test, socket in
            let open = "\(test.location.path)/open"
            try FileManager.default.createDirectory(
                atPath: open, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
            let name = socket.split(separator: "/").last ?? ""
            for other in ["\(test.location.path)/other.socket", "\(open)/\(name)"] {
                let note = LockNote(process: 1, mountPoint: "/m", socket: other)
                try Data(note.text.utf8).write(to: URL(filePath: test.location.lock), options: [])
                let error = clientError { () throws(ClientError) in
                    try ProfileAccess.open(test.location) { () throws(ClientError) in secret("") }
                }
                #expect(error?.caseName == "otherSocket", "\(other)")
            }
        }
    }

    /// A request for one profile never reaches another, whatever the paths of sockets lead to.
    @Test func aMountOfAnotherProfileReceivesNothing() throws {
        try withServer { served, socket in
            let other = try TestProfile()
            let held = try other.unlock()
            let path = RuntimeDirectory.socket(of: try held.place(), in: other.location.path)
            #expect(path.split(separator: "/").last != socket.split(separator: "/").last)
            #expect(symlink(socket, path) == 0)
            try held.setLockNote(LockNote(process: 1, mountPoint: "/m", socket: path))
            let access = try access(other)
            let error = clientError { () throws(ClientError) in
                try access.perform(VaultRequest.create(name: "Astray"))
            }
            #expect(error?.caseName == "answered")
            let status = try self.access(served).perform(StatusRequest())
            #expect(status.vaults.map(\.name) == ["Personal"])
        }
    }

    /// A copy has the same id; its mount has a socket of its own.
    @Test func aCopyHasASocketOfItsOwn() throws {
        let test = try TestProfile()
        let directory = try TemporaryDirectory()
        let copy = ProfileLocation(path: "\(directory.path)/copy")
        _ = try test.unlock()
        try FileManager.default.copyItem(atPath: test.location.path, toPath: copy.path)
        let (one, two) = (try ProfilePlace(of: test.location), try ProfilePlace(of: copy))
        #expect(one.id == two.id && one.socketName != two.socketName)
        // Another way to the same profile leads to the same socket, and so does its new name.
        let link = "\(directory.path)/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: test.location.path)
        #expect(try ProfilePlace(of: ProfileLocation(path: link)) == one)
        try FileManager.default.moveItem(atPath: copy.path, toPath: "\(directory.path)/moved")
        #expect(try ProfilePlace(of: ProfileLocation(path: "\(directory.path)/moved")) == two)
    }

    /// A copy by hard links has the same lock file: its mount would have its own socket all the same, and a command
    /// that asks in vain says why.
    @Test func aCopyByHardLinks() throws {
        let test = try TestProfile()
        let directory = try TemporaryDirectory()
        let copy = ProfileLocation(path: "\(directory.path)/copy")
        _ = try test.unlock()
        try FileManager.default.createDirectory(atPath: copy.path, withIntermediateDirectories: false)
        try FileManager.default.copyItem(
            atPath: "\(test.location.path)/profile", toPath: "\(copy.path)/profile")
        try FileManager.default.linkItem(atPath: test.location.lock, toPath: copy.lock)
        let (one, two) = (try ProfilePlace(of: test.location), try ProfilePlace(of: copy))
        #expect(one.number == two.number && one != two && one.socketName != two.socketName)
        #expect(chmod(directory.path, 0o700) == 0)
        let socket = RuntimeDirectory.socket(of: one, in: directory.path)
        #expect(try ProfileAccess.checkSocket(socket, of: test.location) == one)
        let error = clientError { () throws(ClientError) in
            try ProfileAccess.checkSocket(socket, of: copy)
        }
        #expect(error?.caseName == "linkedLock")
    }

    /// Requests reach only this user and root.
    @Test(
        .enabled(
            if: geteuid() == 0 && FileManager.default.fileExists(atPath: "/usr/bin/python3"),
            "acting as another user takes root, and Python"))
    func aServerOfAnotherUserReceivesNothing() throws {
        try withServer { test, socket in
            let access = try access(test)
            unlink(socket)
            let heard = "\(test.location.path)/heard"
            let program = """
                import os, socket, sys
                server = socket.socket(socket.AF_UNIX)
                server.bind(sys.argv[1])
                out = open(sys.argv[2], "wb", buffering=0)
                os.setuid(65534)
                server.listen()
                out.write(b"ready")
                out.write(server.accept()[0].recv(100))
                """
            let server = Process()
            server.executableURL = URL(filePath: "/usr/bin/env")
            server.arguments = ["python3", "-c", program, socket, heard]
            try server.run()
            defer { server.terminate() }
            #expect(waitUntil { (try? Data(contentsOf: URL(filePath: heard)).count) == 5 })
            let request = ProfileRequest.changePassphrase(old: [1], new: [2], hint: nil, passes: 2, memory: 8)
            let error = clientError { () throws(ClientError) in try access.perform(request) }
            #expect("\(String(describing: error))".contains("Another user"))
            server.waitUntilExit()
            #expect(try Data(contentsOf: URL(filePath: heard)) == Data("ready".utf8))
        }
    }

    /// Clients that send nonsense, leave early or send nothing do not block others.
    @Test func badClients() throws {
        try withServer { test, socket in
            for text in ["", "\n", "nonsense\n", "{\"status\":{}}", String(repeating: "x", count: 2 << 20)] {
                let client = try connect(socket)
                _ = text.withCString { send(client, $0, text.utf8.count, Int32(MSG_NOSIGNAL)) }
                close(client)
            }
            _ = try access(test).perform(StatusRequest())
        }
    }

    private func connect(_ path: String) throws -> Int32 {
        let client = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(client, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0)
        return client
    }
}
