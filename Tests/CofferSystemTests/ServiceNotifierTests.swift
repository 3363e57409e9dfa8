import CofferSystem
import Foundation
import Testing

/// Messages to a service manager, at a real socket.
@Suite struct ServiceNotifierTests {
    /// The manager's end.
    private final class Manager {
        let address: String
        private let socket: Int32
        private let file: String?

        init(abstract: Bool) throws {
            let name = "coffer-test-\(getpid())-\(UInt32.random(in: 0 ... .max))"
            file = abstract ? nil : NSTemporaryDirectory() + "/" + name
            self.address = file ?? "@\(name)"
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = abstract ? [0] + Array(name.utf8) : Array(self.address.utf8) + [0]
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
            let offset = try #require(MemoryLayout<sockaddr_un>.offset(of: \.sun_path))
            let size = socklen_t(offset + bytes.count)
            let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            socket = Glibc.socket(AF_UNIX, type | Int32(SOCK_NONBLOCK.rawValue), 0)
            let bound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, size) }
            }
            try #require(bound == 0, "\(String(cString: strerror(errno)))")
        }

        deinit {
            close(socket)
            if let file { unlink(file) }
        }

        /// A datagram, or nil where none is waiting.
        func receive() -> String? {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = recv(socket, &buffer, buffer.count, 0)
            return count < 0 ? nil : String(decoding: buffer.prefix(count), as: UTF8.self)
        }
    }

    private func notifying(_ address: String) -> ServiceNotifier? {
        ServiceNotifier { $0 == "NOTIFY_SOCKET" ? address : nil }
    }

    @Test(arguments: [false, true])
    func eachStateIsOneDatagram(abstract: Bool) throws {
        let manager = try Manager(abstract: abstract)
        let notifier = try #require(notifying(manager.address))
        try notifier.send(.ready, status: "Vaults are served.")
        try notifier.send(.stopping, status: "Größe ✓")
        #expect(manager.receive() == "READY=1\nSTATUS=Vaults are served.\n")
        #expect(manager.receive() == "STOPPING=1\nSTATUS=Größe ✓\n")
        #expect(manager.receive() == nil)
    }

    /// The name of a mount point may contain line breaks; they must not begin another assignment.
    @Test(arguments: ["\n", "\r\n", "\r"])
    func statusStaysOneLine(lineBreak: String) throws {
        let manager = try Manager(abstract: true)
        try #require(notifying(manager.address)).send(.ready, status: "a\(lineBreak)MAINPID=1")
        #expect(manager.receive() == "READY=1\nSTATUS=a MAINPID=1\n")
    }

    @Test func nothingIsSentWithoutASocket() {
        #expect(notifying("") == nil)
        #expect(ServiceNotifier { _ in nil } == nil)
    }

    @Test func unknownKindOfSocket() throws {
        let notifier = try #require(notifying("vsock:2:1234"))
        #expect(throws: SystemError("notify", code: EAFNOSUPPORT, on: "vsock:2:1234")) {
            try notifier.send(.ready, status: "")
        }
    }

    @Test func managerIsGone() throws {
        let path = NSTemporaryDirectory() + "/coffer-test-none-\(getpid())"
        #expect(throws: SystemError("notify", code: ENOENT, on: path)) {
            try #require(notifying(path)).send(.ready, status: "")
        }
        let long = "/" + String(repeating: "n", count: 200)
        #expect(throws: SystemError("notify", code: ENAMETOOLONG, on: long)) {
            try #require(notifying(long)).send(.ready, status: "")
        }
    }

    /// The longest path that fits into an address works.
    @Test func longestAddress() throws {
        let path = "@" + String(repeating: "n", count: 106)
        let notifier = try #require(notifying(path))
        #expect(throws: SystemError("notify", code: ECONNREFUSED, on: path)) {
            try notifier.send(.ready, status: "")
        }
    }
}
