internal import CCofferSystem
internal import CofferSystem
internal import Glibc
internal import Synchronization

/// The socket through which commands reach a mount.
///
/// Messages are lines of JSON; each connection carries one request. The socket has mode 0600 and lies in a
/// private directory of the user; peers other than this user and root are refused. A client first names the
/// profile it means, and the server answers with its own, so that no request reaches another profile.
final class ControlServer: Sendable {
    let path: String
    private let place: ProfilePlace
    private let socket: Descriptor
    private let handler: any RequestPerformer
    /// The clients that wait for an answer.
    private let clients = Mutex<[ObjectIdentifier: ControlClient]>([:])
    private let isLeaving = Atomic(false)
    private let changes = Condition(Changes())
    private static let requestByteCountMax = 1 << 20
    /// How long commands that change vaults may take before the profile is locked, in nanoseconds: until they are
    /// told, and after that.
    private static let changeTimeMax: Int64 = 5_000_000_000

    /// The requests under way that change vaults.
    private struct Changes {
        var clients: [ObjectIdentifier: ControlClient] = [:]
        var isHeld = false
    }

    /// Creates the socket of a profile in a directory; replaces one that a dead mount left.
    init(of place: ProfilePlace, in directory: String, _ handler: any RequestPerformer) throws(SystemError) {
        let path = RuntimeDirectory.socket(of: place, in: directory)
        try Directory.removeFile(path)
        let number = unsafe coffer_listen(path)
        guard number >= 0 else { throw SystemError("bind", code: -number, on: path) }
        socket = Descriptor(owning: number)
        self.path = path
        self.place = place
        self.handler = handler
    }

    /// Takes over the socket of another process, with the connections that wait there.
    init(
        _ socket: consuming Descriptor, at path: String, of place: ProfilePlace,
        _ handler: any RequestPerformer
    ) {
        self.socket = socket
        self.path = path
        self.place = place
        self.handler = handler
    }

    /// The socket's descriptor, for another process.
    var number: Int32 { socket.number }

    /// Answers no client any more, except one; the others, and later ones, ask the next process.
    ///
    /// Those whose requests change vaults get a failure: such a request may not be repeated.
    ///
    /// - Parameter connection: The connection of the client that keeps waiting.
    func refuseAll(except connection: Int32?, _ error: ClientError) {
        isLeaving.store(true, ordering: .sequentiallyConsistent)
        let changing = changes.withLock { Set($0.clients.keys) }
        for (key, client) in clients.withLock({ $0 }) where client.connection != connection {
            if changing.contains(key) { client.refuse(error) } else { client.end() }
        }
    }

    /// Answers the client of a connection with a failure, although its request goes on.
    func refuse(_ connection: Int32, _ error: ClientError) {
        clients.withLock { Array($0.values) }.first { $0.connection == connection }?.refuse(error)
    }

    /// Refuses requests that change vaults from now on, and waits for those under way; ends those that take long.
    ///
    /// - Returns: False if one goes on all the same.
    func holdChanges() -> Bool {
        changes.update { $0.isHeld = true }
        let areOver: (inout Changes) -> Bool? = { $0.clients.isEmpty ? true : nil }
        if changes.wait(nanoseconds: Self.changeTimeMax, for: areOver) != nil { return true }
        for client in changes.withLock({ Array($0.clients.values) }) { client.refuse(.locking(.underWay)) }
        return changes.wait(nanoseconds: Self.changeTimeMax, for: areOver) ?? false
    }

    /// Performs such requests again.
    func allowChanges() { changes.update { $0.isHeld = false } }

    private func beginChange(for client: ControlClient) throws(ClientError) {
        let mayBegin = changes.withLock { changes in
            if !changes.isHeld { changes.clients[ObjectIdentifier(client)] = client }
            return !changes.isHeld
        }
        guard mayBegin else { throw .locking(.underWay) }
    }

    /// Starts a thread that accepts connections.
    func start() throws(SystemError) {
        try Thread.startDetached("coffer-control") { [self] in
            while true {
                let number = coffer_accept(socket.number)
                if number == -EINTR || number == -ECONNABORTED { continue }
                guard number >= 0 else { return }
                // It tries again, and waits with the others for the next process, which takes the socket over.
                if isLeaving.load(ordering: .sequentiallyConsistent) {
                    close(number)
                    return
                }
                // Each connection has a thread, so that none waits for a long check or a silent client.
                do throws(SystemError) {
                    try Thread.startDetached("coffer-command") { [self] in serve(Descriptor(owning: number)) }
                } catch {
                    close(number)
                }
            }
        }
    }

    /// Stops accepting connections, and removes the socket.
    func stop() {
        coffer_shut_down(socket.number)
        do throws(SystemError) { try Directory.removeFile(path) } catch { return }
    }

    private func serve(_ connection: borrowing Descriptor) {
        let peer = coffer_peer_user(connection.number)
        guard peer == Int64(geteuid()) || peer == 0 else { return }
        let number = connection.number
        let client = ControlClient(number)
        clients.withLock { $0[ObjectIdentifier(client)] = client }
        defer {
            clients.withLock { $0[ObjectIdentifier(client)] = nil }
            client.end()
        }
        do throws(ClientError) {
            guard let greeting = try line(from: number) else { return }
            guard try ControlCoding.decode(ProfilePlace.self, greeting) == place else {
                throw .control(.notThisProfile)
            }
            if isLeaving.load(ordering: .sequentiallyConsistent) { return }
            client.send(place)
            guard let line = try line(from: number) else { return }
            try answer(try ControlCoding.decode(RequestMessage.self, line).request, to: client)
        } catch {
            client.send(ControlResponse<Done>.failure(code: error.exitCode, message: "\(error)"))
        }
    }

    private func answer<Request: ControlRequest>(
        _ request: Request, to client: ControlClient
    ) throws(ClientError) {
        typealias Response = ControlResponse<Request.Answer>
        let timer = LogTimer(.debug)
        if request.changesVaults { try beginChange(for: client) }
        defer { changes.update { $0.clients[ObjectIdentifier(client)] = nil } }
        do throws(ClientError) {
            let answer = try handler.perform(
                request,
                for: RequestClient(
                    isHeard: { client.isHearing }, progress: { client.send(Response.progress($0)) },
                    connection: client.connection))
            DebugLog.log(.debug, .control, "\(kindOf: request) answered, \(timer)")
            client.send(Response.answer(answer))
        } catch {
            DebugLog.log(.debug, .control, "\(kindOf: request) refused, \(timer): \(error)")
            throw error
        }
    }
}

extension ControlServer {
    private func line(from descriptor: Int32) throws(ClientError) -> [UInt8]? {
        try systemCalls { () throws(SystemError) in
            try LineReader.read(from: descriptor, limit: Self.requestByteCountMax)
        }
    }
}

/// The client of a connection.
///
/// Any thread may send progress, even late: after `end`, nothing is written to the descriptor, whose number
/// may belong to another file by then.
final class ControlClient: Sendable {
    let connection: Int32
    private let hearing = Mutex(true)

    init(_ connection: Int32) {
        self.connection = connection
    }

    /// Whether the client still waits for the answer; false only after a failed send or `end`.
    var isHearing: Bool { hearing.withLock { $0 } }

    /// Sends a message; does nothing after a failed send or `end`.
    func send(_ message: some Encodable) {
        guard let bytes = try? ControlCoding.encode(message) else { return }
        hearing.withLock { isHearing in
            guard isHearing else { return }
            do throws(SystemError) {
                try WholeFile.writeAll(bytes, to: connection, subject: "control socket")
            } catch {
                isHearing = false
            }
        }
    }

    /// Answers with a failure; the request, if it goes on, is not heard any more.
    func refuse(_ error: ClientError) {
        send(ControlResponse<Done>.failure(code: error.exitCode, message: "\(error)"))
        end()
    }

    /// Makes later sends do nothing.
    func end() { hearing.withLock { $0 = false } }
}

/// Reads lines from a descriptor.
enum LineReader {
    /// Reads the next line without its newline, byte by byte; nil at the end.
    ///
    /// - Throws: EMSGSIZE for a line that reaches `limit` bytes.
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

/// The private directory for sockets.
///
/// It is the first that is usable of `$XDG_RUNTIME_DIR/coffer`, `/run/user/UID/coffer`, for root
/// `/run/coffer`, and `/tmp/coffer-UID`.
enum RuntimeDirectory {
    static func make(_ environment: (String) -> String?) throws(ClientError) -> String {
        for path in candidates(environment) where Directory.exists(Directory.parent(of: path)) {
            guard (try? Directory.make(path)) != nil, isPrivate(path) else { continue }
            return path
        }
        throw .control(.noDirectory)
    }

    /// The directories that may hold sockets of this user's mounts, whatever their environment was.
    static func existing(_ environment: (String) -> String?) -> [String] {
        var found: [String] = []
        // mount.coffer(8) makes the last one for a user other than root.
        for path in candidates(environment) + ["/run/coffer-mounts/\(geteuid())/coffer"]
        where isPrivate(path) && !found.contains(path) {
            found.append(path)
        }
        return found
    }

    private static func candidates(_ environment: (String) -> String?) -> [String] {
        let user = geteuid()
        var candidates: [String] = []
        if let runtime = environment("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") {
            candidates.append("\(runtime)/coffer")
        }
        return candidates
            + ["/run/user/\(user)/coffer"] + (user == 0 ? ["/run/coffer"] : []) + ["/tmp/coffer-\(user)"]
    }

    /// Whether a directory belongs to this user, and others have no permissions.
    static func isPrivate(_ path: String) -> Bool {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return false }
        return status.st_uid == geteuid() && status.st_mode & 0o077 == 0
    }

    /// The path of the socket of a profile's mount.
    static func socket(of profile: ProfilePlace, in directory: String) -> String {
        "\(directory)/\(profile.socketName)"
    }
}
