internal import CCofferSystem
internal import CofferSystem
internal import Glibc

/// Where a device waits for another one: a TCP address, or the path of a Unix socket.
package enum PairingAddress: Equatable, Sendable, CustomStringConvertible {
    /// An empty host is every address of this machine; port 0 is any free one.
    case tcp(host: String, port: UInt16)
    case socket(path: String)

    /// Parses HOST:PORT, [HOST]:PORT, or a path, which contains a slash.
    ///
    /// - Throws: `.device(.address)`.
    package init(_ text: String) throws(ClientError) {
        if text.contains("/") {
            self = .socket(path: text)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw .device(.address(text))
        }
        var host = text[..<colon]
        if host.first == "[", host.last == "]", host.count > 1 { host = host.dropFirst().dropLast() }
        guard !host.contains("["), !host.contains("]"), host.allSatisfy({ !$0.isWhitespace }) else {
            throw .device(.address(text))
        }
        self = .tcp(host: String(host), port: port)
    }

    package var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .socket(let path): path
        }
    }

    /// The same address for a process with another working directory.
    package var absolute: PairingAddress {
        switch self {
        case .tcp: self
        case .socket(let path): .socket(path: Directory.absolute(path))
        }
    }

    /// How long to wait for each address of a host, in milliseconds.
    private static let connectTime: Int32 = 10_000

    /// Connects to the device that waits there.
    func connect() throws(ClientError) -> PairingConnection {
        let number =
            switch self {
            case .tcp(let host, let port):
                unsafe coffer_connect_tcp(host, String(port), Self.connectTime)
            case .socket(let path): unsafe coffer_connect(path)
            }
        guard number >= 0 else {
            throw .device(.cannotConnect(description, SystemError("connect", code: -number)))
        }
        return PairingConnection(Descriptor(owning: number))
    }
}

/// Waits at an address for another device.
final class PairingListener: Sendable {
    private let socket: Descriptor
    /// The path of the socket, to be removed at the end.
    private let path: String?
    /// The addresses by which the other device may reach this one.
    let addresses: [PairingAddress]

    /// - Throws: `.device(.cannotListen)`.
    init(at address: PairingAddress) throws(ClientError) {
        var port: UInt16 = 0
        let number: Int32
        switch address {
        case .tcp(let host, let wanted): number = unsafe coffer_listen_tcp(host, String(wanted), &port)
        case .socket(let path): number = unsafe coffer_listen(path)
        }
        guard number >= 0 else {
            throw .device(.cannotListen("\(address)", SystemError("bind", code: -number)))
        }
        socket = Descriptor(owning: number)
        // Otherwise a connection that is gone at once would hold this thread.
        _ = coffer_set_nonblocking(socket.number, 1)
        switch address {
        case .tcp("", _):
            path = nil
            let own = Self.ownAddresses.map { PairingAddress.tcp(host: $0, port: port) }
            addresses = own.isEmpty ? [.tcp(host: "localhost", port: port)] : own
        case .tcp(let host, _):
            path = nil
            addresses = [.tcp(host: host, port: port)]
        case .socket(let path):
            self.path = path
            addresses = [address]
        }
    }

    deinit { if let path { try? Directory.removeFile(path) } }

    /// The most addresses of this machine that are shown.
    private static let addressCountMax = 8

    private static var ownAddresses: [String] {
        (0..<addressCountMax).compactMap { number in
            var text = [CChar](repeating: 0, count: 64)
            guard unsafe coffer_own_address(Int32(number), &text, text.count) == 0 else { return nil }
            return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }

    /// Waits for the next connection.
    ///
    /// A failure of one connection, or for want of memory or descriptors, does not end the waiting.
    ///
    /// - Parameter wait: See `PairingConnection.Wait`.
    func accept(_ wait: PairingConnection.Wait) throws(ClientError) -> PairingConnection {
        let end = wait.end
        while true {
            try wait.until(end, socket.number, POLLIN)
            let number = coffer_accept(socket.number)
            if number >= 0 { return PairingConnection(Descriptor(owning: number)) }
            guard !Self.lastingErrors.contains(-number) else { throw .device(.cutOff) }
            usleep(Self.pause)
        }
    }

    /// The errors after which no connection can be accepted any more.
    private static let lastingErrors: Set<Int32> = [EBADF, EINVAL, ENOTSOCK, EOPNOTSUPP, EFAULT]
    /// The pause after an error, in microseconds.
    private static let pause: UInt32 = 50_000
}
