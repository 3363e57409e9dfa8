internal import CofferSystem
internal import CofferVault
internal import Glibc

/// Ending a mount from outside.
package enum Unmounting {
    private static let poll: Int64 = 10_000_000

    /// Unmounts, and waits until the process behind the mount has stored everything and ended.
    ///
    /// A mount that cannot store everything stays, so that its changes are not lost.
    ///
    /// - Parameter force: Whether to unmount even then.
    /// - Throws: `.notMounted`, `.mountPoint(_, .busy)`, `.notStored`.
    package static func unmount(
        _ path: String, lazily: Bool, force: Bool, _ location: ProfileLocation
    ) throws(ProfileError) {
        // A mount whose process died does not resolve.
        let resolved = (try? Directory.resolve(path)) ?? path
        guard try MountPoint.hasVaults(resolved) else { throw .notMounted(path: path) }
        let note = location.lockNote
        let isOurs = note?.mountPoint == resolved
        if isOurs, !force, let note { try store(path, resolved, note, location) }
        do throws(SystemError) {
            try MountPoint.detach(resolved, lazily: lazily)
        } catch  where error.code == EBUSY {
            throw .mountPoint(path: path, .busy)
        } catch {
            throw .system(error)
        }
        guard isOurs, !lazily else { return }
        while location.isLocked { usleep(UInt32(poll / 1000)) }
        if !force, let last = location.lockNote, last.process == note?.process, !last.failure.isEmpty {
            throw .notStored(path: path, reason: last.failure, isUnmounted: true)
        }
    }

    /// Lets a mount store everything, while it can still be told to stay.
    private static func store(
        _ path: String, _ resolved: String, _ note: LockNote, _ location: ProfileLocation
    ) throws(ProfileError) {
        MountPoint.sync(resolved)
        let response: ControlResponse
        do throws(ProfileError) {
            try ProfileAccess.checkSocket(note.socket, of: location)
            response = try ProfileAccess.ask(note.socket, .store) { _ in }
        } catch {
            // Who does not answer can still be unmounted, and stores then what can be stored.
            return
        }
        guard case .failure(let code, let message) = response,
            code == ProfileError.vault(.noSpace).exitCode
        else { return }
        let reason = message.hasSuffix(".") ? String(message.dropLast()) : message
        throw .notStored(path: path, reason: reason, isUnmounted: false)
    }
}
