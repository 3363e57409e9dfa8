internal import CofferSystem
internal import Glibc

/// Ending a mount from outside.
package enum Unmounting {
    private static let poll: Int64 = 10_000_000

    /// Unmounts, and waits until the process behind the mount has stored everything and ended.
    ///
    /// - Throws: `.notMounted`, `.mountPoint(_, .busy)`.
    package static func unmount(
        _ path: String, lazily: Bool, _ location: ProfileLocation
    ) throws(ProfileError) {
        // A mount whose process died does not resolve.
        let resolved = (try? Directory.resolve(path)) ?? path
        guard try MountPoint.hasVaults(resolved) else { throw .notMounted(path: path) }
        let isOurs = location.lockNote?.mountPoint == resolved
        do throws(SystemError) {
            try MountPoint.detach(resolved, lazily: lazily)
        } catch  where error.code == EBUSY {
            throw .mountPoint(path: path, .busy)
        } catch {
            throw .system(error)
        }
        guard isOurs, !lazily else { return }
        while location.isLocked { usleep(UInt32(poll / 1000)) }
    }
}
