/// A packet for a server (draft-ietf-secsh-filexfer-02, version 3 of the protocol).
struct SFTPRequest {
    /// Its bytes, without the length before them.
    private(set) var bytes: [UInt8]
    /// The longest answer that it can have, in bytes.
    let answerByteCountMax: Int

    /// The first packet of a connection.
    static let initialise = [0, 0, 0, 5, 1, 0, 0, 0, 3] as [UInt8]

    /// Answers with no more than a status, a handle, or attributes.
    static let shortAnswer = 64 << 10
    /// Answers with a part of a directory.
    static let longestAnswer = 256 << 10

    private init(_ type: UInt8, answer: Int = shortAnswer) {
        bytes = [type, 0, 0, 0, 0]
        answerByteCountMax = answer
    }

    /// The packet as it is sent.
    func packet(_ number: UInt32) -> [UInt8] {
        var packet: [UInt8] = []
        packet.reserveCapacity(bytes.count + 4)
        packet.add(UInt32(bytes.count))
        packet += bytes
        for index in 0..<4 { packet[5 + index] = UInt8(truncatingIfNeeded: number >> (24 - 8 * index)) }
        return packet
    }

    /// How to open a file.
    struct Access: OptionSet {
        let rawValue: UInt32
        static let read = Access(rawValue: 0x01)
        static let write = Access(rawValue: 0x02)
        static let create = Access(rawValue: 0x08)
        static let exclusive = Access(rawValue: 0x20)
    }

    static func open(_ path: String, _ access: Access) -> SFTPRequest {
        var request = SFTPRequest(3)
        request.bytes.add(path)
        request.bytes.add(access.rawValue)
        // No attributes: the server's umask decides.
        request.bytes.add(UInt32(0))
        return request
    }

    static func close(_ handle: SFTPHandle) -> SFTPRequest { SFTPRequest(4, handle) }

    static func read(_ handle: SFTPHandle, at offset: Int, count: Int) -> SFTPRequest {
        var request = SFTPRequest(5, answer: count + 1024)
        request.bytes.add(handle.bytes)
        request.bytes.add(UInt64(offset))
        request.bytes.add(UInt32(count))
        return request
    }

    static func write(_ handle: SFTPHandle, at offset: Int, _ data: [UInt8]) -> SFTPRequest {
        var request = SFTPRequest(6)
        request.bytes.add(handle.bytes)
        request.bytes.add(UInt64(offset))
        request.bytes.add(data)
        return request
    }

    static func status(of handle: SFTPHandle) -> SFTPRequest { SFTPRequest(8, handle) }
    static func readDirectory(_ handle: SFTPHandle) -> SFTPRequest {
        var request = SFTPRequest(12, answer: longestAnswer)
        request.bytes.add(handle.bytes)
        return request
    }

    /// Like lstat(2).
    static func linkStatus(of path: String) -> SFTPRequest { SFTPRequest(7, path) }
    static func status(of path: String) -> SFTPRequest { SFTPRequest(17, path) }
    static func openDirectory(_ path: String) -> SFTPRequest { SFTPRequest(11, path) }
    static func remove(_ path: String) -> SFTPRequest { SFTPRequest(13, path) }
    static func removeDirectory(_ path: String) -> SFTPRequest { SFTPRequest(15, path) }

    static func makeDirectory(_ path: String) -> SFTPRequest {
        var request = SFTPRequest(14, path)
        request.bytes.add(UInt32(0))
        return request
    }

    /// Sets permissions, and the owner and the group if they are given.
    static func setAccess(
        _ path: String, owner: (user: UInt32, group: UInt32)?, permissions: UInt32
    ) -> SFTPRequest {
        var request = SFTPRequest(9, path)
        request.bytes.add(UInt32(owner == nil ? 0x4 : 0x6))
        if let owner {
            request.bytes.add(owner.user)
            request.bytes.add(owner.group)
        }
        request.bytes.add(permissions)
        return request
    }

    /// Gives a free name, as version 3 has it; servers differ in what they do if it is taken.
    static func rename(_ path: String, to new: String) -> SFTPRequest {
        var request = SFTPRequest(18, path)
        request.bytes.add(new)
        return request
    }

    /// A request of one of OpenSSH's extensions (its file PROTOCOL).
    static func extended(_ name: SFTPExtension, _ paths: String...) -> SFTPRequest {
        var request = SFTPRequest(200, name.rawValue)
        for path in paths { request.bytes.add(path) }
        return request
    }

    static func sync(_ handle: SFTPHandle) -> SFTPRequest {
        var request = SFTPRequest(200, SFTPExtension.sync.rawValue)
        request.bytes.add(handle.bytes)
        return request
    }

    private init(_ type: UInt8, _ handle: SFTPHandle) {
        self.init(type)
        bytes.add(handle.bytes)
    }

    private init(_ type: UInt8, _ text: String) {
        self.init(type)
        bytes.add(text)
    }
}

/// What OpenSSH's server adds to the protocol.
enum SFTPExtension: String, CaseIterable, Sendable {
    /// rename(2), which replaces what has the name.
    case rename = "posix-rename@openssh.com"
    /// link(2).
    case link = "hardlink@openssh.com"
    /// fsync(2).
    case sync = "fsync@openssh.com"
    /// statvfs(3).
    case space = "statvfs@openssh.com"
}

/// By which a server knows an open file or directory.
struct SFTPHandle: Hashable, Sendable {
    let bytes: [UInt8]
}

extension [UInt8] {
    fileprivate mutating func add<Number: FixedWidthInteger>(_ number: Number) {
        for shift in stride(from: Number.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: number >> Number(shift)))
        }
    }

    fileprivate mutating func add(_ bytes: [UInt8]) {
        add(UInt32(bytes.count))
        self += bytes
    }

    fileprivate mutating func add(_ text: String) { add(Array(text.utf8)) }
}
