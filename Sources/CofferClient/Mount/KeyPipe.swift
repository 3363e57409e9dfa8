package import CofferCrypto
internal import CofferSystem
internal import Glibc

/// A pipe that takes a profile's key from one process to the next.
package enum KeyPipe {
    private static let subject = "profile key"

    /// Makes a pipe that holds the key.
    ///
    /// - Returns: Its reading end.
    static func make(_ key: borrowing SecretBytes) throws(SystemError) -> Descriptor {
        let ends = try ChildProcess.makePipe()
        let reading = Descriptor(owning: ends.reading)
        let writing = Descriptor(owning: ends.writing)
        var bytes = key.withBytes { $0.array }
        defer { SecretBytes.wipe(&bytes) }
        try WholeFile.writeAll(bytes, to: writing.number, subject: subject)
        return reading
    }

    /// Reads a key of 32 bytes, and closes the descriptor.
    package static func read(_ descriptor: Int32) throws(ClientError) -> SecretBytes {
        let pipe = Descriptor(owning: descriptor)
        var bytes = [UInt8](repeating: 0, count: 32)
        var done = 0
        while done < bytes.count {
            let (place, room) = (done, bytes.count - done)
            let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(pipe.number, buffer.baseAddress?.advanced(by: place), room)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                SecretBytes.wipe(&bytes)
                throw .system(SystemError("read", code: EPIPE, on: subject))
            }
            done += count
        }
        return SecretBytes(moving: &bytes)
    }
}
