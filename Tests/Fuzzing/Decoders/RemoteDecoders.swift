import CofferRemote

// Answers of servers that remotes are on: whoever runs the server, or is in between, chooses them.
extension Decoder {
    /// Packets of SFTP, and the first one of a server.
    static let sftpPackets = Decoder(name: "sftp-packets", byteCountMax: 1024) {
        func number(_ value: UInt8) -> [UInt8] { [0, 0, 0, value] }
        func string(_ text: String) -> [UInt8] { number(UInt8(text.utf8.count)) + Array(text.utf8) }
        let parts: [[UInt8]] = [number(0xF)] + (1...7).map { number($0) }
        let attributes: [UInt8] = Array(parts.joined())
        func packet(_ type: UInt8, _ parts: [UInt8]...) -> [UInt8] { [type] + Array(parts.joined()) }
        return [
            packet(101, number(4), string("Failure"), string("en")), packet(102, string("handle")),
            packet(103, string("data")), packet(104, number(1), string("name"), string("-rw"), attributes),
            packet(105, attributes), packet(201, number(1)),
            packet(2, number(3), string("fsync@openssh.com"), string("1")),
        ]
    } run: { bytes in
        guard let type = bytes.first else { return .refused }
        if type == 2 {
            guard let names = try? SFTPAnswer.extensions(bytes.dropFirst()) else { return .refused }
            try expect(names.count <= bytes.count / 8, "more extensions than bytes")
            return .taken
        }
        guard let answer = try? SFTPAnswer(type, bytes.dropFirst()) else { return .refused }
        switch answer {
        case .names(let entries): try expect(entries.count <= bytes.count / 12, "more names than bytes")
        case .handle(let handle): try expect(handle.count <= 256, "a long handle")
        case .data(let data): try expect(data.count < bytes.count, "more data than bytes")
        case .status, .attributes, .extended: break
        }
        return .taken
    }
}
