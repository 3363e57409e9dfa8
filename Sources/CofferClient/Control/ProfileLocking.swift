package import CofferCrypto
internal import CofferSystem
internal import CofferVault

/// Locks and unlocks a mounted profile from another process.
package enum ProfileLocking {
    /// Locks the profile, and returns when its keys and everything of its vaults are gone from memory.
    ///
    /// - Parameter force: Whether to lock even if changes cannot be stored, which are lost then.
    /// - Returns: False if it was locked already.
    /// - Throws: `.notMounted`, `.notStored`, `.inUse`, `.underWay`.
    package static func lock(_ location: ProfileLocation, force: Bool) throws(ClientError) -> Bool {
        let (socket, place) = try mount(of: location)
        do throws(ClientError) {
            if try isLocked(socket, place) { return false }
        } catch .control(.answered(LockingError.underWay.exitCode, _)) {
            // The profile is about to lock itself.
        }
        _ = try ProfileAccess.ask(socket, of: place, LockRequest(force: force)) { _ in }
        return true
    }

    /// Unlocks the profile, and returns when its mount serves the vaults again.
    ///
    /// - Parameter passphrase: Called for the passphrase if the profile is locked.
    /// - Returns: False if it was not locked.
    /// - Throws: `.notMounted`, and the errors of `Profile.unlock`.
    package static func unlock(
        _ location: ProfileLocation, passphrase: () throws(ClientError) -> SecretBytes
    ) throws(ClientError) -> Bool {
        let (socket, place) = try mount(of: location)
        guard try isLocked(socket, place) else { return false }
        let key = try Profile.key(at: location, passphrase: try passphrase())
        _ = try ProfileAccess.ask(socket, of: place, UnlockRequest(key: key)) { _ in }
        return true
    }

    /// The control socket of the profile's mount.
    private static func mount(of location: ProfileLocation) throws(ClientError) -> (String, ProfilePlace) {
        try Profile.check(location)
        guard location.isLocked, let note = location.lockNote, !note.socket.isEmpty else {
            throw .locking(.notMounted)
        }
        return (note.socket, try ProfileAccess.checkSocket(note.socket, of: location))
    }

    private static func isLocked(_ socket: String, _ place: ProfilePlace) throws(ClientError) -> Bool {
        try ProfileAccess.ask(socket, of: place, LockStateRequest()) { _ in }.isLocked
    }
}

extension Profile {
    /// Finds the key of a profile by its passphrase, while a mount holds the profile's lock.
    ///
    /// Several callers take turns, so that parallel attempts save no wait.
    ///
    /// - Throws: As `unlock` does; `.underWay` if another one tries a passphrase now.
    static func key(
        at location: ProfileLocation, passphrase: borrowing SecretBytes
    ) throws(ClientError) -> SecretBytes {
        let turn = try systemCalls { () throws(SystemError) in try FileLock.take(location.profile) }
        guard let turn else { throw .locking(.underWay) }
        let record = try readRecord(location)
        let key = try open(record, location, passphrase)
        // A damaged body is reported here, while the mount still answers.
        _ = try openBody(record, key, location)
        _ = consume turn
        return key.bytes.duplicate()
    }
}
