import Glibc
import Testing

/// A server that takes connections and never answers.
final class SilentServer {
    /// The port on 127.0.0.1.
    let port: UInt16
    private let socket: Int32

    init() throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { [socket] in
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                // The kernel takes the connections.
                bind(socket, address, size) == 0 && listen(socket, 64) == 0
                    ? getsockname(socket, address, &size) : -1
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        try #require(code == 0)
    }

    deinit { close(socket) }
}
