internal import CCofferSystem
package import CofferCrypto
internal import CofferSystem
internal import CofferVault
internal import Glibc

/// A profile as commands use it: through its mount if there is one, else opened for the command alone.
package final class ProfileAccess: Sendable {
    private enum Way: Sendable {
        case mount(socket: String, ProfilePlace)
        case alone(ControlHandler, OpenVaults)
    }

    private let way: Way

    /// Opens the profile.
    ///
    /// - Parameter passphrase: Asked for the passphrase if the profile is not mounted.
    package static func open(
        _ location: ProfileLocation, passphrase: () throws(ProfileError) -> SecretBytes
    ) throws(ProfileError) -> ProfileAccess {
        try Profile.check(location)
        do throws(ProfileError) {
            let lock = try location.takeLock()
            let profile = try Profile.unlock(location, lock, passphrase: try passphrase())
            let vaults = OpenVaults(profile, problems: ProblemLog(), isReadOnly: false)
            let handler = ControlHandler(vaults, SharedVaults(vaults), mountPoint: nil) { _ in }
            return ProfileAccess(.alone(handler, vaults))
        } catch {
            guard case .locked(let note) = error, let note, !note.socket.isEmpty else { throw error }
            return ProfileAccess(.mount(socket: note.socket, try checkSocket(note.socket, of: location)))
        }
    }

    /// Checks that a lock's note names a socket as a mount of this profile makes it, in a directory of
    /// this user's own: whoever can write the note could else choose who hears the passphrase.
    ///
    /// - Returns: Which profile has to answer there.
    static func checkSocket(_ socket: String, of location: ProfileLocation) throws(ProfileError)
        -> ProfilePlace
    {
        let directory = Directory.parent(of: socket)
        let place = try ProfilePlace(of: location)
        // As mounts called it before profiles that are copies had one each.
        if RuntimeDirectory.isPrivate(directory), socket == "\(directory)/\(place.id.prefix(16)).socket" {
            throw .olderMount
        }
        guard RuntimeDirectory.isPrivate(directory),
            socket == RuntimeDirectory.socket(of: place, in: directory)
        else {
            if (try? FileStatus(of: location.lock).linkCount) ?? 1 > 1 {
                throw .control(
                    "\(location.lock) is the lock of another profile, too, as after “cp -al”, and that one is in use. Put a copy of its own in its place: cp lock lock.new && mv lock.new lock"
                )
            }
            throw .control("The lock of the profile names a socket that no mount of it makes: \(socket)")
        }
        return place
    }

    /// Checks who answers before anything is said: only this user or root holds the user's profiles.
    static func checkPeer(_ peer: Int64) throws(ProfileError) {
        guard peer == Int64(geteuid()) || peer == 0 else {
            throw .control("The profile is held by another user (\(peer)); nothing was sent to them.")
        }
    }

    private init(_ way: Way) {
        self.way = way
    }

    /// Whether the profile is mounted.
    package var isMounted: Bool {
        if case .mount = way { true } else { false }
    }

    /// Does what is asked.
    ///
    /// - Parameters:
    ///   - isHeard: Whether the answer is still wanted; a mount knows that from the connection.
    ///   - progress: Hears from long work.
    package func perform(
        _ request: ControlRequest, isHeard: @escaping @Sendable () -> Bool = { true },
        progress: @escaping @Sendable (Progress) -> Void = { _ in }
    ) throws(ProfileError) -> ControlResponse {
        switch way {
        case .alone(let handler, _):
            return try handler.answer(request, isHeard: isHeard, progress: progress)
        case .mount(let socket, let place): return try Self.ask(socket, of: place, request, progress)
        }
    }

    /// Stores everything, if the profile was opened for this.
    package func close() {
        if case .alone(_, let vaults) = way { vaults.close() }
    }

    /// Sends a request to the mount of a profile, and waits for the answer.
    ///
    /// Says first which profile is meant; the request follows once the mount has said that it is this one's.
    static func ask(
        _ socket: String, of place: ProfilePlace, _ request: ControlRequest, _ progress: (Progress) -> Void
    ) throws(ProfileError) -> ControlResponse {
        let number = unsafe coffer_connect(socket)
        guard number >= 0 else {
            throw .control(
                "The mount of this profile does not answer (\(SystemError("connect", code: -number))). Wait, or end it: coffer unmount"
            )
        }
        let connection = Descriptor(owning: number)
        try checkPeer(coffer_peer_user(connection.number))
        try send(place, to: connection)
        try checkGreeting(try answer(from: connection), from: place)
        try send(request, to: connection)
        while true {
            let response = try ControlCoding.decode(ControlResponse.self, try answer(from: connection))
            guard case .progress(let state) = response else { return response }
            progress(state)
        }
    }

    /// Checks that who answers has the profile that is meant.
    private static func checkGreeting(_ line: [UInt8], from place: ProfilePlace) throws(ProfileError) {
        if let other = try? ControlCoding.decode(ProfilePlace.self, line) {
            guard other == place else {
                throw .control("The mount that answers serves another profile; nothing was sent to it.")
            }
            return
        }
        if case .failure(_, let message) = try ControlCoding.decode(ControlResponse.self, line) {
            throw .control(message)
        }
        throw .otherAnswer
    }

    private static func send(
        _ message: some Encodable, to connection: borrowing Descriptor
    ) throws(ProfileError) {
        let (bytes, number) = (try ControlCoding.encode(message), connection.number)
        try systemCalls { () throws(SystemError) in
            try WholeFile.writeAll(bytes, to: number, subject: "control socket")
        }
    }

    /// The next line that the mount says.
    private static func answer(from connection: borrowing Descriptor) throws(ProfileError) -> [UInt8] {
        let number = connection.number
        let line = try systemCalls { () throws(SystemError) in
            try LineReader.read(from: number, limit: 64 << 20)
        }
        guard let line else { throw .control("The mount ended before it answered.") }
        return line
    }
}
