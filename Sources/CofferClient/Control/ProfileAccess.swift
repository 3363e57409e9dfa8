internal import CCofferSystem
package import CofferCrypto
internal import CofferSystem
internal import CofferVault
internal import Glibc

/// A profile as commands use it: through its mount if there is one, else opened for the command alone.
package final class ProfileAccess: Sendable {
    private enum Way: Sendable {
        case mount(socket: String)
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
            try checkSocket(note.socket, of: location)
            return ProfileAccess(.mount(socket: note.socket))
        }
    }

    /// Checks that a lock's note names a socket as a mount of this profile makes it, in a directory of
    /// this user's own: whoever can write the note could else choose who hears the passphrase.
    static func checkSocket(_ socket: String, of location: ProfileLocation) throws(ProfileError) {
        let directory = Directory.parent(of: socket)
        guard RuntimeDirectory.isPrivate(directory),
            socket == RuntimeDirectory.socket(of: try Profile.id(at: location), in: directory)
        else {
            throw .control("The lock of the profile names a socket that no mount of it makes: \(socket)")
        }
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
    /// - Parameter progress: Hears from long work.
    package func perform(
        _ request: ControlRequest, progress: @escaping @Sendable (Progress) -> Void = { _ in }
    ) throws(ProfileError) -> ControlResponse {
        switch way {
        case .alone(let handler, _): return try handler.answer(request, progress: progress)
        case .mount(let socket): return try Self.ask(socket, request, progress)
        }
    }

    /// Stores everything, if the profile was opened for this.
    package func close() {
        if case .alone(_, let vaults) = way { vaults.close() }
    }

    /// Sends a request to a mount, and waits for the answer.
    static func ask(
        _ socket: String, _ request: ControlRequest, _ progress: (Progress) -> Void
    ) throws(ProfileError) -> ControlResponse {
        let number = unsafe coffer_connect(socket)
        guard number >= 0 else {
            throw .control(
                "The mount of this profile does not answer (\(SystemError("connect", code: -number)).")
        }
        let connection = Descriptor(owning: number)
        try checkPeer(coffer_peer_user(connection.number))
        let bytes = try ControlCoding.encode(request)
        try systemCalls { () throws(SystemError) in
            try WholeFile.writeAll(bytes, to: connection.number, subject: "control socket")
        }
        while true {
            let line = try systemCalls { () throws(SystemError) in
                try LineReader.read(from: connection.number, limit: 64 << 20)
            }
            guard let line else { throw .control("The mount ended before it answered.") }
            let response = try ControlCoding.decode(ControlResponse.self, line)
            guard case .progress(let state) = response else { return response }
            progress(state)
        }
    }
}
