internal import CofferCrypto
internal import Glibc

/// A request that concerns the profile or the mount as a whole.
package enum ProfileRequest: ControlRequest {
    /// Writes all changes to disk, before an unmount.
    case store
    /// Ends the process of a mount that has been unmounted, even if copies are left in other mount
    /// namespaces.
    ///
    /// Does nothing if another process has mounted the profile meanwhile.
    case end(process: Int32)
    /// Changes the passphrase; both cross the socket, which only this user can reach, and never reach a disk.
    case changePassphrase(old: [UInt8], new: [UInt8], hint: String?, passes: UInt32, memory: UInt32)

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .profile(self) }

    package func perform(by handler: ControlHandler, for client: RequestClient) throws(ClientError) -> Done {
        switch self {
        case .store:
            // The client is about to unmount.
            try handler.vaults.store(usingReserve: true)
        case .end(let process):
            if process == getpid() { handler.end() }
        case .changePassphrase(var old, var new, let hint, let passes, let memory):
            let strength: PasswordHash
            do throws(CryptoError) {
                strength = try PasswordHash(passes: passes, memory: memory)
            } catch {
                throw .profile(.strengthOutOfRange)
            }
            try handler.vaults.profile.changePassphrase(
                from: SecretBytes(moving: &old), to: SecretBytes(moving: &new), hint: hint, strength: strength
            )
        }
        return Done()
    }
}
