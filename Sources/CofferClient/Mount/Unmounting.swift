internal import CofferFormat
internal import CofferSystem
internal import CofferVault
internal import Glibc

/// Ends a mount from another process.
package enum Unmounting {
    /// In nanoseconds.
    private static let poll: Int64 = 10_000_000

    /// How long to wait before the mount's process is asked again to end, in nanoseconds.
    private static let retry: Int64 = 1_000_000_000

    /// How long the mount's process may take to end before a note explains the wait, in nanoseconds.
    private static let patience: Int64 = 5_000_000_000

    /// Unmounts, and waits until the mount's process has stored everything and ended.
    ///
    /// The mount leads to the profile that serves it, whichever profile is given. A mount that cannot store
    /// everything stays, so that no changes are lost. So does one that programs use, directly or through a
    /// copy, and one whose process cannot be found; unused copies end with the mount.
    ///
    /// - Parameters:
    ///   - lazily: Whether only to detach the mount, which then ends with its last user and its last copy.
    ///   - force: Whether to unmount even if changes cannot be stored, if a copy is in use, or if the mount's
    ///     process cannot be found.
    ///   - given: The profile that the user named, or the default one.
    ///   - environment: The variables that say where sockets of mounts are.
    ///   - note: Called with notes for the user.
    /// - Throws: `.notMounted`, `.mountPoint(_, .busy)`, `.mountPoint(_, .busyHere)`,
    ///   `.mountPoint(_, .busyElsewhere)`, `.mountPoint(_, .otherUsers)`, `.mountPoint(_, .unknownServer)`,
    ///   `.notStored`.
    package static func unmount(
        _ path: String, lazily: Bool, force: Bool, _ given: ProfileLocation,
        environment: (String) -> String?, note tell: (String) -> Void
    ) throws(ClientError) {
        let records = MountRecord.all(environment)
        for location in [given] + records.map(\.location) {
            if let note = location.lockNote, location.isLocked { KilledMount.abort(note) }
        }
        // A mount whose process died does not resolve.
        let resolved = (try? Directory.resolve(path)) ?? path
        let mount = try MountPoint.mount(of: resolved)
        let server = MountServer.find(mount, at: resolved, given, records)
        guard let mount else {
            // The mount was detached earlier, and its process still runs.
            guard let server else { throw .mount(.notMounted(path: path)) }
            guard force, !lazily else {
                throw .mount(.mountPoint(path: path, .detached(process: server.note.process)))
            }
            return try end(path, server, force: true, tell)
        }
        if server == nil, !lazily, !force { try refuseUnknown(mount, path, resolved) }
        let isOriginal = server?.note.mountPoint == resolved
        if let server, !force {
            // Checked before storing, which may use the reserve, and after it, because storing may take long.
            if isOriginal, !lazily { try checkCopies(of: mount, path, server.note) }
            try store(path, resolved, server, tell)
            if isOriginal, !lazily { try checkCopies(of: mount, path, server.note) }
        }
        do throws(SystemError) {
            try MountPoint.detach(resolved, lazily: lazily)
        } catch  where error.code == EBUSY {
            throw .mount(.mountPoint(path: path, .busy))
        } catch {
            throw .system(error)
        }
        let copies = MountCopies(of: mount.device)
        // Unmounting a copy may unmount the original, too: see shared mounts in mount_namespaces(7).
        let endsNow = server != nil && !lazily && (isOriginal || copies.paths.isEmpty)
        let places = copies.places
        if !places.isEmpty {
            tell(
                "\(path) is also mounted \(places). "
                    + (endsNow ? "It ends there, too." : "It stays available there until that ends."))
        }
        if endsNow { copies.sync() }
        if let server, endsNow { return try end(path, server, force: force, tell) }
        if server == nil, force, !lazily, places.isEmpty {
            tell("\(path): the process that served the mount was not found, so nobody waited for it.")
        }
    }

    /// Refuses to unmount without the process that serves the mount, unless that process has died.
    private static func refuseUnknown(
        _ mount: MountTable.Mount, _ path: String, _ resolved: String
    ) throws(ClientError) {
        if MountPoint.isDead(resolved) { return }
        if let user = mount.user, user != geteuid() {
            throw .mount(.mountPoint(path: path, .otherUsers(UserName.user(user))))
        }
        throw .mount(.mountPoint(path: path, .unknownServer))
    }

    /// Checks that no process uses a copy of the mount.
    ///
    /// Users of the mount itself need no check: unmounting fails with EBUSY.
    private static func checkCopies(
        of mount: MountTable.Mount, _ path: String, _ note: LockNote
    ) throws(ClientError) {
        let users = MountCopies(of: mount.device, besides: mount.id, server: note.process).holders
            .filter(\.isUsing)
        guard !users.isEmpty else { return }
        if users.allSatisfy(\.isHere) {
            throw .mount(.mountPoint(path: path, .busyHere(MountCopies.list(users))))
        }
        throw .mount(.mountPoint(path: path, .busyElsewhere(MountCopies.list(users))))
    }

    /// Makes the process of a mount end, and waits for it.
    ///
    /// It must be asked, because the kernel reports the unmount to it only when no copy is left.
    static func end(
        _ path: String, _ server: MountServer, force: Bool, _ tell: (String) -> Void
    ) throws(ClientError) {
        let (location, note) = (server.location, server.note)
        let start = Clock.monotonic
        var hasTold = false
        var asked = Int64.min
        // A lock taken by another process ends the wait; an unreadable note is being rewritten by the same
        // process.
        while location.isLocked, location.lockNote?.process ?? note.process == note.process {
            // A process that is about to lock or unlock the profile leaves the request to the program that it executes.
            if Clock.monotonic - start >= asked {
                askToEnd(server)
                asked = Clock.monotonic - start + retry
            }
            usleep(UInt32(poll / 1000))
            guard !hasTold, Clock.monotonic - start > patience else { continue }
            hasTold = true
            tell("Waiting for the mount's process \(note.process) to store the last changes and end …")
        }
        if !force, let last = location.lockNote, last.process == note.process, !last.failure.isEmpty {
            throw .mount(.notStored(path: path, reason: last.failure, isUnmounted: true))
        }
    }

    private static func askToEnd(_ server: MountServer) {
        do throws(ClientError) {
            let place = try ProfileAccess.checkSocket(server.note.socket, of: server.location)
            let request = ProfileRequest.end(process: server.note.process)
            _ = try ProfileAccess.ask(server.note.socket, of: place, request) { _ in }
        } catch {
            // It has ended, or is about to.
        }
    }

    /// Makes a mount store everything before it is unmounted, so that it can stay if that fails.
    private static func store(
        _ path: String, _ resolved: String, _ server: MountServer, _ tell: (String) -> Void
    ) throws(ClientError) {
        MountPoint.sync(resolved)
        do throws(ClientError) {
            let place = try ProfileAccess.checkSocket(server.note.socket, of: server.location)
            _ = try ProfileAccess.ask(server.note.socket, of: place, ProfileRequest.store) { _ in }
        } catch {
            switch error {
            case .control(.answered(ClientError.vault(.noSpace).exitCode, let message)):
                let reason = message.hasSuffix(".") ? String(message.dropLast()) : message
                throw .mount(.notStored(path: path, reason: reason, isUnmounted: false))
            case .control(.olderMount):
                tell("The mount is of an older version of Coffer. It stores everything when it ends.")
            default:
                // A mount that does not answer can still be unmounted, and then stores what it can.
                return
            }
        }
    }
}
