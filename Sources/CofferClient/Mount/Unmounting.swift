internal import CofferFormat
internal import CofferSystem
internal import CofferVault
internal import Glibc

/// Ends a mount from another process.
package enum Unmounting {
    /// In nanoseconds.
    private static let poll: Int64 = 10_000_000

    /// How long the mount's process may take to end before a note explains the wait, in nanoseconds.
    private static let patience: Int64 = 5_000_000_000

    /// Unmounts, and waits until the mount's process has stored everything and ended.
    ///
    /// A mount that cannot store everything stays, so that no changes are lost. So does one that programs
    /// use, directly or through a copy; unused copies end with the mount.
    ///
    /// - Parameters:
    ///   - lazily: Whether only to detach the mount, which then ends with its last user and its last copy.
    ///   - force: Whether to unmount even if changes cannot be stored, or if a copy is in use.
    ///   - note: Called with notes for the user.
    /// - Throws: `.notMounted`, `.mountPoint(_, .busy)`, `.mountPoint(_, .busyHere)`,
    ///   `.mountPoint(_, .busyElsewhere)`, `.notStored`.
    package static func unmount(
        _ path: String, lazily: Bool, force: Bool, _ location: ProfileLocation, note tell: (String) -> Void
    ) throws(ClientError) {
        if let note = location.lockNote, location.isLocked { KilledMount.abort(note) }
        // A mount whose process died does not resolve.
        let resolved = (try? Directory.resolve(path)) ?? path
        let note = location.lockNote.flatMap { $0.mountPoint == resolved ? $0 : nil }
        guard try MountPoint.hasVaults(resolved) else {
            // The mount was detached earlier, and its process still runs.
            guard let note, !lazily, location.isLocked else { throw .mount(.notMounted(path: path)) }
            guard force else { throw .mount(.mountPoint(path: path, .detached(process: note.process))) }
            return try end(path, note, force: true, location, tell)
        }
        let mount = try MountPoint.mount(of: resolved)
        if let note, !force {
            // Checked before storing, which may use the reserve, and after it, because storing may take long.
            if !lazily { try checkCopies(of: mount, path, note) }
            try store(path, resolved, note, location, tell)
            if !lazily { try checkCopies(of: mount, path, note) }
        }
        do throws(SystemError) {
            try MountPoint.detach(resolved, lazily: lazily)
        } catch  where error.code == EBUSY {
            throw .mount(.mountPoint(path: path, .busy))
        } catch {
            throw .system(error)
        }
        if let mount {
            let copies = MountCopies(of: mount.device)
            let endsNow = note != nil && !lazily
            let places = copies.places
            if !places.isEmpty {
                tell(
                    "\(path) is also mounted \(places). "
                        + (endsNow ? "It ends there, too." : "It stays available there until that ends."))
            }
            if endsNow { copies.sync() }
        }
        guard let note, !lazily else { return }
        try end(path, note, force: force, location, tell)
    }

    /// Checks that no process uses a copy of the mount.
    ///
    /// Users of the mount itself need no check: unmounting fails with EBUSY.
    private static func checkCopies(
        of mount: MountTable.Mount?, _ path: String, _ note: LockNote
    ) throws(ClientError) {
        guard let mount else { return }
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
    private static func end(
        _ path: String, _ note: LockNote, force: Bool, _ location: ProfileLocation, _ tell: (String) -> Void
    ) throws(ClientError) {
        do throws(ClientError) {
            let place = try ProfileAccess.checkSocket(note.socket, of: location)
            _ = try ProfileAccess.ask(note.socket, of: place, ProfileRequest.end(process: note.process)) {
                _ in
            }
        } catch {
            // It has ended, or is about to.
        }
        let start = Clock.monotonic
        var hasTold = false
        // A lock taken by another process ends the wait; an unreadable note is being rewritten by the same
        // process.
        while location.isLocked, location.lockNote?.process ?? note.process == note.process {
            usleep(UInt32(poll / 1000))
            guard !hasTold, Clock.monotonic - start > patience else { continue }
            hasTold = true
            tell("Waiting for the mount's process \(note.process) to store the last changes and end …")
        }
        if !force, let last = location.lockNote, last.process == note.process, !last.failure.isEmpty {
            throw .mount(.notStored(path: path, reason: last.failure, isUnmounted: true))
        }
    }

    /// Makes a mount store everything before it is unmounted, so that it can stay if that fails.
    private static func store(
        _ path: String, _ resolved: String, _ note: LockNote, _ location: ProfileLocation,
        _ tell: (String) -> Void
    ) throws(ClientError) {
        MountPoint.sync(resolved)
        do throws(ClientError) {
            let place = try ProfileAccess.checkSocket(note.socket, of: location)
            _ = try ProfileAccess.ask(note.socket, of: place, ProfileRequest.store) { _ in }
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
