import CofferSystem
import Glibc

@testable import CofferFUSE

// Requests of the kernel; Channel reads the parts that libfuse does not pass on.
extension Decoder {
    static let kernelRequest = Decoder(name: "kernel-request", byteCountMax: 128) {
        // FUSE_INIT that offers FUSE_HANDLE_KILLPRIV_V2, FUSE_WRITE and FUSE_SETATTR that drop privileges.
        [request(26, 12, 1 << 28), request(16, 20, 1 << 2), request(4, 0, 1 << 11)]
    } run: { bytes in
        if bytes.isEmpty { return .refused }
        let channel = try Channel(ReadsInFlight(), Gate(LockedAnswers(user: 0, group: 0, changed: 0), nil))
        let ends = try ChildProcess.makePipe()
        let reading = Descriptor(owning: ends.reading)
        let writing = Descriptor(owning: ends.writing)
        try WholeFile.writeAll(bytes, to: writing.number, subject: "a request")
        var buffer = [UInt8](repeating: 0, count: bytes.count)
        let count = buffer.withUnsafeMutableBytes { buffer in
            buffer.baseAddress.map { channel.read(reading.number, $0, buffer.count) }
        }
        try expect(count == bytes.count && buffer == bytes, "a request changes on its way")
        // The answer: a header, and a body as long as the request.
        let before = [UInt8](repeating: 0, count: 16 + bytes.count)
        try expect(answer(channel, writing, before) == before.count, "an answer is cut short")
        var after = before
        _ = after.withUnsafeMutableBytes { read(reading.number, $0.baseAddress, $0.count) }
        let changed = after.enumerated().filter { $0.element != 0 }.map(\.offset)
        try expect(changed.isEmpty || changed == [16 + 12 + 3], "bytes \(changed) of an answer were changed")
        return channel.dropsPrivileges || !changed.isEmpty ? .taken : .refused
    }

    private static func request(_ kind: UInt8, _ offset: Int, _ word: UInt32) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 40 + 64)
        bytes[4] = kind
        for index in 0..<4 { bytes[40 + offset + index] = UInt8(truncatingIfNeeded: word >> (8 * index)) }
        return bytes
    }

    private static func answer(
        _ channel: Channel, _ target: borrowing Descriptor, _ bytes: [UInt8]
    ) -> Int {
        var bytes = bytes
        return bytes.withUnsafeMutableBytes { buffer in
            var parts = [
                iovec(iov_base: buffer.baseAddress, iov_len: 16),
                iovec(iov_base: buffer.baseAddress.map { $0 + 16 }, iov_len: buffer.count - 16),
            ]
            return channel.write(target.number, &parts, 2)
        }
    }
}
