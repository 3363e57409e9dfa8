internal import CCofferSystem
package import CofferCrypto
internal import CofferSystem
internal import CofferVault
internal import Glibc

/// Access of a command to a profile: through its mount if there is one, otherwise opened for the command.
package final class ProfileAccess: Sendable {
    private enum Way: Sendable {
        case mount(socket: String, ProfilePlace)
        case alone(ControlHandler, OpenVaults)
    }

    private let way: Way

    /// Opens the profile.
    ///
    /// - Parameter passphrase: Called for the passphrase if the profile is not mounted.
    package static func open(
        _ location: ProfileLocation, passphrase: () throws(ClientError) -> SecretBytes
    ) throws(ClientError) -> ProfileAccess {
        try Profile.check(location)
        do throws(ClientError) {
            let lock = try location.takeLock()
            try Profile.checkDelay(location)
            let profile = try Profile.unlock(location, lock, passphrase: try passphrase())
            let vaults = OpenVaults(profile, problems: ProblemLog(), isReadOnly: location.isOnReadOnlyDisk)
            let handler = ControlHandler(vaults, SharedVaults(vaults), mountPoint: nil) { _ in }
            return ProfileAccess(.alone(handler, vaults))
        } catch {
            guard case .profile(.locked(let note)) = error, let note, !note.socket.isEmpty else {
                throw error
            }
            return ProfileAccess(.mount(socket: note.socket, try checkSocket(note.socket, of: location)))
        }
    }

    /// Checks that the lock's note names the socket of a mount of this profile, in a private directory of
    /// this user.
    ///
    /// Otherwise a process that can write the note could choose which process receives the passphrase.
    ///
    /// - Returns: The profile that must answer at the socket.
    static func checkSocket(_ socket: String, of location: ProfileLocation) throws(ClientError)
        -> ProfilePlace
    {
        let directory = Directory.parent(of: socket)
        let place = try ProfilePlace(of: location)
        if RuntimeDirectory.isPrivate(directory),
            place.olderSocketNames.contains(where: { socket == "\(directory)/\($0)" })
        {
            throw .control(.olderMount)
        }
        guard RuntimeDirectory.isPrivate(directory),
            socket == RuntimeDirectory.socket(of: place, in: directory)
        else {
            if (try? FileStatus(of: location.lock).linkCount) ?? 1 > 1 {
                throw .control(.linkedLock(path: location.lock))
            }
            throw .control(.otherSocket(socket))
        }
        return place
    }

    /// Checks, before anything is sent, that the peer runs as this user or as root.
    static func checkPeer(_ peer: Int64) throws(ClientError) {
        guard peer == Int64(geteuid()) || peer == 0 else {
            throw .control(.otherUser(peer))
        }
    }

    private init(_ way: Way) {
        self.way = way
    }

    /// Whether the profile is mounted.
    package var isMounted: Bool {
        if case .mount = way { true } else { false }
    }

    /// Performs a request, and blocks until it is answered.
    ///
    /// - Parameters:
    ///   - isHeard: Whether the answer is still wanted; a mount ignores it and watches the connection
    ///     instead.
    ///   - stream: The descriptor of the stream that belongs to the request; stays open.
    ///   - progress: Called during long work.
    package func perform<Request: ControlRequest>(
        _ request: Request, isHeard: @escaping @Sendable () -> Bool = { true }, stream: Int32? = nil,
        progress: @escaping @Sendable (Progress) -> Void = { _ in }
    ) throws(ClientError) -> Request.Answer {
        switch way {
        case .alone(let handler, _):
            return try handler.answer(request, isHeard: isHeard, stream: stream, progress: progress)
        case .mount(let socket, let place):
            return try Self.ask(socket, of: place, request, stream: stream, progress)
        }
    }

    /// Stores everything and closes the vaults, if the profile was opened for the command.
    package func close() {
        if case .alone(_, let vaults) = way { vaults.close() }
    }

    /// Sends a request to the mount of a profile, and waits for the answer.
    ///
    /// Sends the request only after the mount has confirmed that it serves this profile. One that may be repeated is
    /// sent again if the connection ends: the next process of the mount may be the one to answer (`Handover`).
    ///
    /// - Throws: `.answered` if the mount answers with a failure.
    static func ask<Request: ControlRequest>(
        _ socket: String, of place: ProfilePlace, _ request: Request, stream: Int32? = nil,
        _ progress: (Progress) -> Void
    ) throws(ClientError) -> Request.Answer {
        var count = 1
        var end: ClientError?
        while true {
            do throws(ClientError) {
                return try askOnce(socket, of: place, request, stream: stream, progress)
            } catch {
                switch error {
                case .control(.ended) where request.isRepeatable && count < connectionMax:
                    end = error
                    count += 1
                    usleep(connectionPause)
                // Nobody serves the mount any more.
                case .control(.silent): throw end ?? error
                default: throw error
                }
            }
        }
    }

    private static func askOnce<Request: ControlRequest>(
        _ socket: String, of place: ProfilePlace, _ request: Request, stream: Int32?,
        _ progress: (Progress) -> Void
    ) throws(ClientError) -> Request.Answer {
        let connection = try connect(socket, to: place)
        try send(request.message, to: connection)
        if let stream {
            let result = coffer_send_descriptor(connection.number, stream)
            // A mount that refuses the request has answered, and reads nothing more.
            if result < 0, result != -EPIPE, result != -ECONNRESET {
                throw .system(SystemError("sendmsg", code: -result, on: "control socket"))
            }
        }
        while true {
            let line = try answer(from: connection)
            switch try ControlCoding.decode(ControlResponse<Request.Answer>.self, line) {
            case .progress(let state): progress(state)
            case .answer(let answer): return answer
            case .failure(let code, let message):
                throw .control(.answered(code: code, message: message))
            }
        }
    }

    /// How often to connect again, and how long to wait before that, in microseconds.
    private static let connectionMax = 40, connectionPause: UInt32 = 50_000

    /// Connects to the mount of a profile, which has confirmed that it serves it.
    ///
    /// A connection that ends before that is tried again: the process was being replaced (`Handover`).
    private static func connect(_ socket: String, to place: ProfilePlace) throws(ClientError) -> Descriptor {
        var count = 0
        while true {
            let number = unsafe coffer_connect(socket)
            guard number >= 0 else {
                throw .control(.silent(SystemError("connect", code: -number)))
            }
            let connection = Descriptor(owning: number)
            try checkPeer(coffer_peer_user(connection.number))
            do throws(ClientError) {
                try send(place, to: connection)
                try checkGreeting(try answer(from: connection), from: place)
                return connection
            } catch {
                count += 1
                switch error {
                case .control(.ended) where count < connectionMax, .system where count < connectionMax:
                    usleep(connectionPause)
                default: throw error
                }
            }
        }
    }

    /// Checks that the mount that answered serves the expected profile.
    private static func checkGreeting(_ line: [UInt8], from place: ProfilePlace) throws(ClientError) {
        if let other = try? ControlCoding.decode(ProfilePlace.self, line) {
            guard other == place else {
                throw .control(.otherProfile)
            }
            return
        }
        if case .failure(let code, let message) = try ControlCoding.decode(ControlResponse<Done>.self, line) {
            throw .control(.answered(code: code, message: message))
        }
        throw .control(.otherAnswer)
    }

    private static func send(
        _ message: some Encodable, to connection: borrowing Descriptor
    ) throws(ClientError) {
        let (bytes, number) = (try ControlCoding.encode(message), connection.number)
        try systemCalls { () throws(SystemError) in
            try WholeFile.writeAll(bytes, to: number, subject: "control socket")
        }
    }

    /// Reads the next line from the mount.
    private static func answer(from connection: borrowing Descriptor) throws(ClientError) -> [UInt8] {
        let number = connection.number
        let line = try systemCalls { () throws(SystemError) in
            try LineReader.read(from: number, limit: 64 << 20)
        }
        guard let line else { throw .control(.ended) }
        return line
    }
}
