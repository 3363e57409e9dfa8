internal import CCofferSystem
internal import CofferCrypto
internal import CofferSystem
internal import Glibc

/// The connection of two devices that are being paired: messages of up to 65,535 bytes, each after its length.
final class PairingConnection: Sendable {
    private let descriptor: Descriptor

    init(_ descriptor: consuming Descriptor) {
        self.descriptor = descriptor
        // Otherwise a peer that reads nothing would hold this thread.
        _ = coffer_set_nonblocking(self.descriptor.number, 1)
    }

    /// How long, and for whom, to wait for the other device.
    struct Wait {
        /// The most time for one message, in nanoseconds.
        let nanoseconds: Int64
        /// When the wait ends in any case, by the monotonic clock.
        var limit = Int64.max
        /// Whether the command that started the pairing still runs; called about once a second.
        let isHeard: () -> Bool

        /// How long to wait for a person, in nanoseconds: 15 minutes.
        static let person: Int64 = 900_000_000_000
        /// How long to wait for a program: 20 seconds.
        static let program: Int64 = 20_000_000_000
        /// How long the messages may take that a stranger can send as well: 5 seconds for all of them.
        static let exchange: Int64 = 5_000_000_000
        /// How long to wait until the other device has stored everything: 5 minutes.
        static let storing: Int64 = 300_000_000_000
        /// How long to try to tell the other device why a pairing ends: 2 seconds.
        static let parting: Int64 = 2_000_000_000

        /// The pause between calls of `isHeard`, in milliseconds.
        private static let step: Int32 = 500

        /// When a wait that begins now ends.
        var end: Int64 { min(Clock.monotonic + nanoseconds, limit) }

        /// Waits until a descriptor can be read or written, or until a time.
        ///
        /// - Throws: `.device(.noAnswer)`, `.device(.cancelled)`.
        func until(_ end: Int64, _ descriptor: Int32, _ events: Int32) throws(ClientError) {
            while true {
                guard isHeard() else { throw .device(.cancelled) }
                guard Clock.monotonic < end else { throw .device(.noAnswer) }
                var ready = pollfd(fd: descriptor, events: Int16(events), revents: 0)
                let count = unsafe poll(&ready, 1, Self.step)
                if count > 0 { return }
                guard count == 0 || errno == EINTR else { throw .device(.cutOff) }
            }
        }
    }

    /// Sends a message.
    ///
    /// - Throws: `.device`: `.cutOff`, `.noAnswer`, `.cancelled`.
    func send(_ message: [UInt8], _ wait: Wait) throws(ClientError) {
        precondition(message.count <= NoiseChannel.messageByteCountMax)
        let bytes = [UInt8(message.count & 255), UInt8(message.count >> 8)] + message
        let end = wait.end
        var done = 0
        while done < bytes.count {
            try wait.until(end, descriptor.number, POLLOUT)
            let start = done
            // SAFETY: `start` is less than the count of the array, which is borrowed for the call.
            let count = unsafe bytes.withUnsafeBytes { raw in
                unsafe coffer_write_quietly(
                    descriptor.number, raw.baseAddress?.advanced(by: start), raw.count - start)
            }
            if count < 0, errno == EAGAIN || errno == EINTR { continue }
            guard count > 0 else { throw .device(.cutOff) }
            done += count
        }
    }

    /// Sends several messages.
    func send(_ messages: [[UInt8]], _ wait: Wait) throws(ClientError) {
        for message in messages { try send(message, wait) }
    }

    /// Receives the next message.
    ///
    /// - Throws: `.device`: `.cutOff`, `.noAnswer`, `.cancelled`.
    func receive(_ wait: Wait) throws(ClientError) -> [UInt8] {
        let end = wait.end
        let length = try receive(2, wait, until: end)
        return try receive(Int(length[0]) | Int(length[1]) << 8, wait, until: end)
    }

    private func receive(_ count: Int, _ wait: Wait, until end: Int64) throws(ClientError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            try wait.until(end, descriptor.number, POLLIN)
            let start = done
            // SAFETY: `start` is less than the count of the array, which is borrowed for the call.
            let got = unsafe bytes.withUnsafeMutableBytes { raw in
                unsafe read(descriptor.number, raw.baseAddress?.advanced(by: start), raw.count - start)
            }
            if got < 0, errno == EAGAIN || errno == EINTR { continue }
            guard got > 0 else { throw .device(.cutOff) }
            done += got
        }
        return bytes
    }
}
