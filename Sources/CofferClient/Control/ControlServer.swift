internal import CCofferSystem
internal import CofferSystem
internal import Glibc

/// The socket through which commands reach a mount: lines of JSON, one request for each connection.
///
/// Lies in a directory of the user's own, with mode 0600; whoever connects must be this user or root. A client says
/// first which profile it means, and hears which one this is, so that no request reaches another profile.
final class ControlServer: Sendable {
    let path: String
    private let place: ProfilePlace
    private let socket: Descriptor
    private let handler: ControlHandler
    private static let requestByteCountMax = 1 << 20

    /// Makes the socket of a profile in a directory of sockets; one that a dead mount left is replaced.
    init(of place: ProfilePlace, in directory: String, _ handler: ControlHandler) throws(SystemError) {
        let path = RuntimeDirectory.socket(of: place, in: directory)
        try Directory.removeFile(path)
        let number = unsafe coffer_listen(path)
        guard number >= 0 else { throw SystemError("bind", code: -number, on: path) }
        socket = Descriptor(owning: number)
        self.path = path
        self.place = place
        self.handler = handler
    }

    /// Starts to answer, on a thread of its own.
    func start() throws(SystemError) {
        try Thread.startDetached("coffer-control") { [self] in
            while true {
                let number = coffer_accept(socket.number)
                if number == -EINTR || number == -ECONNABORTED { continue }
                guard number >= 0 else { return }
                // One thread each, so that nobody waits for a long check or a client that says nothing.
                do throws(SystemError) {
                    try Thread.startDetached("coffer-command") { [self] in serve(Descriptor(owning: number)) }
                } catch {
                    close(number)
                }
            }
        }
    }

    /// Takes no more requests.
    func stop() {
        coffer_shut_down(socket.number)
        do throws(SystemError) { try Directory.removeFile(path) } catch { return }
    }

    private func serve(_ connection: borrowing Descriptor) {
        let peer = coffer_peer_user(connection.number)
        guard peer == Int64(geteuid()) || peer == 0 else { return }
        let number = connection.number
        let client = ControlClient(number)
        defer { client.end() }
        do throws(ProfileError) {
            guard let greeting = try line(from: number) else { return }
            guard try ControlCoding.decode(ProfilePlace.self, greeting) == place else {
                throw .control("The mount that answers serves another profile; nothing was done.")
            }
            client.send(place)
            guard let line = try line(from: number) else { return }
            let request = try ControlCoding.decode(ControlRequest.self, line)
            client.send(
                try handler.answer(request, isHeard: { client.isHearing }) { client.send(.progress($0)) })
        } catch {
            client.send(.failure(code: error.exitCode, message: "\(error)"))
        }
    }
}

extension ControlServer {
    private func line(from descriptor: Int32) throws(ProfileError) -> [UInt8]? {
        try systemCalls { () throws(SystemError) in
            try LineReader.read(from: descriptor, limit: Self.requestByteCountMax)
        }
    }
}

/// Who asked, and hears the answer.
///
/// Progress may be told by any thread, also late: nothing is written to a descriptor that is another's by then.
final class ControlClient: Sendable {
    private let descriptor: Int32
    private let hearing = Condition(true)

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Whether somebody still waits for the answer, as far as that is known.
    var isHearing: Bool { hearing.withLock { $0 } }

    /// Sends a message; nothing to a client that is gone, or was let go.
    func send(_ response: ControlResponse) { send(message: response) }

    /// Says which profile answers.
    func send(_ place: ProfilePlace) { send(message: place) }

    private func send(message: some Encodable) {
        guard let bytes = try? ControlCoding.encode(message) else { return }
        hearing.withLock { isHearing in
            guard isHearing else { return }
            do throws(SystemError) {
                try WholeFile.writeAll(bytes, to: descriptor, subject: "control socket")
            } catch {
                isHearing = false
            }
        }
    }

    /// Sends nothing from now on.
    func end() { hearing.withLock { $0 = false } }
}

/// Lines from a descriptor.
enum LineReader {
    /// The next line without its newline; nil at the end.
    static func read(from descriptor: Int32, limit: Int) throws(SystemError) -> [UInt8]? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while line.count < limit {
            let count = unsafe Glibc.read(descriptor, &byte, 1)
            if count < 0 {
                if errno == EINTR { continue }
                throw SystemError("read", code: errno, on: "control socket")
            }
            if count == 0 { return line.isEmpty ? nil : line }
            if byte == UInt8(ascii: "\n") { return line }
            line.append(byte)
        }
        throw SystemError("read", code: EMSGSIZE, on: "control socket")
    }
}

/// The directory for sockets: XDG_RUNTIME_DIR/coffer, else /run/user/UID/coffer, else /tmp/coffer-UID.
enum RuntimeDirectory {
    static func make(_ environment: (String) -> String?) throws(ProfileError) -> String {
        let user = geteuid()
        var candidates: [String] = []
        if let runtime = environment("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") {
            candidates.append("\(runtime)/coffer")
        }
        candidates +=
            ["/run/user/\(user)/coffer"] + (user == 0 ? ["/run/coffer"] : []) + ["/tmp/coffer-\(user)"]
        for path in candidates where Directory.exists(Directory.parent(of: path)) {
            guard (try? Directory.make(path)) != nil, isPrivate(path) else { continue }
            return path
        }
        throw .control("There is no safe place for the socket of the mount; set XDG_RUNTIME_DIR.")
    }

    /// Whether a directory belongs to this user, and nobody else can do anything in it.
    static func isPrivate(_ path: String) -> Bool {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return false }
        return status.st_uid == geteuid() && status.st_mode & 0o077 == 0
    }

    /// The socket of a profile's mount.
    static func socket(of profile: ProfilePlace, in directory: String) -> String {
        "\(directory)/\(profile.socketName)"
    }
}
