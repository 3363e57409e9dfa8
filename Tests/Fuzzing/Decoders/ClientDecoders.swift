import CofferCrypto
import CofferFormat
import CofferRemote
import CofferSystem
import CofferTrust
import CofferVault

@testable import CofferClient

// Input of CofferClient from files, its socket, and the kernel.
extension Decoder {
    static let profileBody = Decoder(name: "profile-body", byteCountMax: 4096) {
        var body = ProfileBody(identity: IdentityKeys(name: "Alice"), device: DeviceKeys(label: "laptop"))
        let empty = body.encoded()
        let (one, two) = (VaultID(low: 1, high: 2), VaultID(low: 3, high: 4))
        body.vaults = [
            VaultRecord(id: one, slot: 1, name: "Personal", keys: [newKey(of: one)]),
            VaultRecord(id: two, slot: 2, name: "Work", keys: [newKey(of: two)]),
        ]
        body.nextSlot = 3
        body.publicIdentity = try PublicIdentity(founding: body.identity, at: 1_800_000_000_000_000_000)
        body.shares = [VaultShare(vault: two, url: "file:///nas", log: LogID(low: 5, high: 6))]
        let invite = try Invite(to: one, root: .zero, role: .writer, expires: 9, url: "file:///nas")
        body.joins = [PendingJoin(invite, name: "Team")]
        body.verified = [.zero]
        let word = Array("key".utf8)
        body.logins = [
            try RemoteLogin(
                at: "s3://bucket", user: SecretBytes(copying: word.span.bytes),
                secret: SecretBytes(copying: word.span.bytes), token: SecretBytes(count: 0) { _ in })
        ]
        return [empty, body.encoded()]
    } run: { bytes in
        guard let body = try? ProfileBody(bytes.span.bytes) else { return .refused }
        // Records may come in any order, so the second encoding must equal the first one.
        let encoded = body.encoded()
        guard let again = try? ProfileBody(encoded.span.bytes) else {
            throw Violation("a body that was read cannot be read again")
        }
        try expect(again.encoded() == encoded, "a body has two encodings")
        let slots = Set(body.vaults.map(\.slot))
        try expect(slots.count == body.vaults.count, "two vaults have one slot")
        try expect(!slots.contains(0) && body.nextSlot > 0, "a vault has the slot of the mount's root")
        for vault in body.vaults {
            try expect(!vault.keys.isEmpty, "a vault has no key")
            try expect(vault.keys.allSatisfy { $0.epoch.number > 0 }, "an epoch has number 0")
        }
        return .taken
    }

    static let backupBody = Decoder(name: "backup-body", byteCountMax: 4096) {
        var body = ProfileBody(identity: IdentityKeys(name: "Alice"), device: DeviceKeys(label: "laptop"))
        let empty = BackupBody(of: body).encoded()
        let vault = VaultID(low: 1, high: 2)
        body.vaults = [
            VaultRecord(id: vault, slot: 1, name: "Personal", keys: [newKey(of: vault)])
                .with([newKey(of: vault)], lost: [newKey(of: vault)])
        ]
        body.publicIdentity = try PublicIdentity(founding: body.identity, at: 1_800_000_000_000_000_000)
        body.shares = [VaultShare(vault: vault, url: "file:///nas", log: LogID(low: 5, high: 6))]
        let invite = try Invite(to: vault, root: .zero, role: .writer, expires: 9, url: "file:///nas")
        body.joins = [PendingJoin(invite, name: "Team")]
        body.verified = [.zero]
        return [empty, BackupBody(of: body).encoded()]
    } run: { bytes in
        guard let body = try? BackupBody(bytes.span.bytes) else { return .refused }
        let encoded = body.encoded()
        guard let again = try? BackupBody(encoded.span.bytes) else {
            throw Violation("a body that was read cannot be read again")
        }
        try expect(again.encoded() == encoded, "a body has two encodings")
        try expect(Set(body.vaults.map(\.id)).count == body.vaults.count, "a vault occurs twice")
        for vault in body.vaults { try expect(!vault.keys.isEmpty, "a vault has no key") }
        return .taken
    }

    private static func newKey(of vault: VaultID) -> EpochKey {
        EpochKey(vault: vault, epoch: .first, key: .random())
    }

    static let controlRequest = Decoder(name: "control-request", byteCountMax: 512) {
        let requests: [any ControlRequest] = [
            StatusRequest(), VaultRequest.create(name: "Work"),
            VaultRequest.rename(name: "Work", newName: "“ä\\/\""), VaultRequest.delete(name: ""),
            CheckRequest(vault: nil), CheckRequest(vault: "Work", remote: .read),
            ProfileRequest.changePassphrase(
                old: [1, 2], new: [255], hint: "hint", passes: 3, memory: 65_536),
            RecoveryRequest.add(key: Array(0..<16), passphrase: [1]), BackupRequest(),
        ]
        return try requests.map { try ControlCoding.encode($0.message).dropLast() }
    } run: { bytes in
        try roundTrip(RequestMessage.self, bytes)
    }

    static let controlResponse = Decoder(name: "control-response", byteCountMax: 1024) {
        let vault = VaultReport(
            name: "Work", id: "00", created: 1, epoch: 1, isOpen: true, items: 2, contentBytes: 3,
            historySeconds: -1, historyBytes: 5, snapshots: 1, storeBytes: 4,
            stopped: nil, cacheLimit: nil, sync: nil)
        let report = StatusReport(
            profile: "/p", name: "Alice", device: "laptop", mountPoint: "/m", vaults: [vault],
            joins: [AskedJoin(vault: "s", remote: "file:///r", role: "reader", expires: 1)],
            disk: DiskReport(total: 2, available: 1), problems: [ProblemReport(time: 1, text: "text")])
        let damage = VaultCheck.Damage(path: "a", from: 0, to: 1, text: "text")
        let check = VaultCheck(
            vault: "Work", items: 1, blocks: 2, bytes: 3, isCompared: nil, damage: [damage], unchecked: [])
        let lines = [
            try ControlCoding.encode(ControlResponse<Done>.progress(Progress(done: 1, total: 2))),
            try ControlCoding.encode(ControlResponse.answer(Done())),
            try ControlCoding.encode(ControlResponse.answer(report)),
            try ControlCoding.encode(ControlResponse.answer(CheckReport(vaults: [check]))),
            try ControlCoding.encode(ControlResponse<Done>.failure(code: 1, message: "text")),
        ]
        return lines.map { $0.dropLast() }
    } run: { bytes in
        let outcomes = [
            try roundTrip(ControlResponse<StatusReport>.self, bytes),
            try roundTrip(ControlResponse<CheckReport>.self, bytes),
            try roundTrip(ControlResponse<Done>.self, bytes),
        ]
        return outcomes.contains(.taken) ? .taken : .refused
    }

    /// A message that was read is written as one line, and reads as the same message again.
    private static func roundTrip<Message: Codable>(
        _ type: Message.Type, _ bytes: [UInt8]
    ) throws -> Outcome {
        guard let message = try? ControlCoding.decode(type, bytes) else { return .refused }
        let line = try ControlCoding.encode(message)
        try expect(line.firstIndex(of: UInt8(ascii: "\n")) == line.count - 1, "a message is not one line")
        let again = "\(try ControlCoding.decode(type, Array(line.dropLast())))"
        try expect(again.utf8.elementsEqual("\(message)".utf8), "a message changes when it is sent on")
        return .taken
    }

    static let attempts = Decoder(name: "attempts", byteCountMax: 128) {
        let boot = "01234567-89ab-cdef-0123-456789abcdef"
        return [
            AttemptRecord(count: 0, boot: boot, time: 0), AttemptRecord(count: 7, boot: boot, time: 1 << 60),
        ]
        .map(\.bytes)
    } run: { bytes in
        guard let record = AttemptRecord(bytes) else { return .refused }
        try expect(AttemptRecord(record.bytes) == record, "a count of attempts changes when it is stored")
        try expect(record.count >= 0 && record.time >= 0, "a count or a time is negative")
        return .taken
    }

    static let lockNote = Decoder(name: "lock-note", byteCountMax: 128) {
        [
            LockNote(process: 1, mountPoint: "", socket: ""),
            LockNote(process: 1, mountPoint: "/home/a/Coffer", socket: "/run/user/1000/coffer/1"),
            LockNote(process: 1, mountPoint: "/a\r\nb\r", socket: "/s"),
        ].map { Array($0.text.utf8) }
    } run: { bytes in
        guard let note = LockNote(bytes) else { return .refused }
        guard let again = LockNote(Array(note.text.utf8)) else {
            throw Violation("a note cannot be read again")
        }
        try expect(again.text.utf8.elementsEqual(note.text.utf8), "a note changes when it is stored")
        try expect(again.socket.utf8.elementsEqual(note.socket.utf8), "a note's socket changes")
        return .taken
    }

    static let mountTable = Decoder(name: "mount-table", byteCountMax: 512) {
        ["36 35 98:0 /mnt1 /mnt2\\040x rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"]
            .map { Array($0.utf8) }
    } run: { bytes in
        let mounts = MountTable(bytes).mounts
        let lines = bytes.reduce(1) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) }
        try expect(mounts.count <= lines, "more mounts than lines")
        return mounts.isEmpty ? .refused : .taken
    }

    /// Sealed records: exactly the sealed ones open.
    static let sealedRecord = Decoder(name: "sealed-record", byteCountMax: 256) {
        [[], Array(0..<72)]
    } run: { bytes in
        let key = SymmetricKey<ProfileBodyRole>.zero()
        let sealed = RecordCipher.seal(bytes.span.bytes, key: key, associated: bytes.span.bytes)
        let opened = try RecordCipher.open(sealed.span.bytes, key: key, associated: bytes.span.bytes)
        try expect(opened == bytes, "a record does not open to what was sealed")
        for attempt in [bytes, sealed.dropLast(), sealed + [0]] {
            let forged = try? RecordCipher.open(attempt.span.bytes, key: key, associated: bytes.span.bytes)
            try expect(forged == nil, "a record opens that nobody sealed")
        }
        return .taken
    }
}
