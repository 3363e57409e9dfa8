internal import CofferSystem
internal import CofferVault
internal import Glibc

/// Ending a mount from outside.
package enum Unmounting {
    private static let poll: Int64 = 10_000_000

    /// How long the process behind a mount may take to end before the user is told what is waited for.
    private static let patience: Int64 = 5_000_000_000

    /// Unmounts, and waits until the process behind the mount has stored everything and ended.
    ///
    /// A mount that cannot store everything stays, so that its changes are not lost. So does one that programs use,
    /// here or through a copy in another mount namespace; copies that nobody uses end with the mount.
    ///
    /// - Parameters:
    ///   - lazily: Whether to take the mount from its place only: it ends with its last user and its last copy.
    ///   - force: Whether to unmount even what cannot be stored, or is used through a copy.
    ///   - note: Told what the user should know.
    /// - Throws: `.notMounted`, `.mountPoint(_, .busy)`, `.mountPoint(_, .busyHere)`,
    ///   `.mountPoint(_, .busyElsewhere)`, `.notStored`.
    package static func unmount(
        _ path: String, lazily: Bool, force: Bool, _ location: ProfileLocation, note tell: (String) -> Void
    ) throws(ProfileError) {
        // A mount whose process died does not resolve.
        let resolved = (try? Directory.resolve(path)) ?? path
        let note = location.lockNote.flatMap { $0.mountPoint == resolved ? $0 : nil }
        guard try MountPoint.hasVaults(resolved) else {
            // Taken from its place before, and still served.
            guard let note, !lazily, location.isLocked else { throw .notMounted(path: path) }
            guard force else { throw .mountPoint(path: path, .detached(process: note.process)) }
            return try end(path, note, force: true, location, tell)
        }
        let mount = try MountPoint.mount(of: resolved)
        if let note, !force {
            // Before anything is stored, which may take the reserve, and after that, which may take long.
            if !lazily { try checkCopies(of: mount, path, note) }
            try store(path, resolved, note, location, tell)
            if !lazily { try checkCopies(of: mount, path, note) }
        }
        do throws(SystemError) {
            try MountPoint.detach(resolved, lazily: lazily)
        } catch  where error.code == EBUSY {
            throw .mountPoint(path: path, .busy)
        } catch {
            throw .system(error)
        }
        if let mount {
            let copies = MountCopies(of: mount.device)
            let endsNow = note != nil && !lazily
            let places = copies.places
            if !places.isEmpty {
                tell(
                    "\(path) is mounted \(places), too; "
                        + (endsNow ? "it ends there as well." : "it is served there until that ends."))
            }
            if endsNow { copies.sync() }
        }
        guard let note, !lazily else { return }
        try end(path, note, force: force, location, tell)
    }

    /// Checks that nobody uses a copy of the mount.
    ///
    /// Who uses the mount itself keeps it from being unmounted anyway.
    private static func checkCopies(
        of mount: MountTable.Mount?, _ path: String, _ note: LockNote
    ) throws(ProfileError) {
        guard let mount else { return }
        let users = MountCopies(of: mount.device, besides: mount.id, server: note.process).holders
            .filter(\.isUsing)
        guard !users.isEmpty else { return }
        if users.allSatisfy(\.isHere) {
            throw .mountPoint(path: path, .busyHere(MountCopies.list(users)))
        }
        throw .mountPoint(path: path, .busyElsewhere(MountCopies.list(users)))
    }

    /// Has the process behind a mount end, and waits for that.
    ///
    /// The kernel tells it of the end only once there is no copy of the mount any more.
    private static func end(
        _ path: String, _ note: LockNote, force: Bool, _ location: ProfileLocation, _ tell: (String) -> Void
    ) throws(ProfileError) {
        do throws(ProfileError) {
            let place = try ProfileAccess.checkSocket(note.socket, of: location)
            _ = try ProfileAccess.ask(note.socket, of: place, .end(process: note.process)) { _ in }
        } catch {
            // Ended already, or about to.
        }
        let start = Clock.monotonic
        var hasTold = false
        // Whoever mounts next is not waited for; a note that is being changed is still that of the process.
        while location.isLocked, location.lockNote?.process ?? note.process == note.process {
            usleep(UInt32(poll / 1000))
            guard !hasTold, Clock.monotonic - start > patience else { continue }
            hasTold = true
            tell("Waiting for the mount’s process \(note.process) to store what is left, and end …")
        }
        if !force, let last = location.lockNote, last.process == note.process, !last.failure.isEmpty {
            throw .notStored(path: path, reason: last.failure, isUnmounted: true)
        }
    }

    /// Lets a mount store everything, while it can still be told to stay.
    private static func store(
        _ path: String, _ resolved: String, _ note: LockNote, _ location: ProfileLocation,
        _ tell: (String) -> Void
    ) throws(ProfileError) {
        MountPoint.sync(resolved)
        let response: ControlResponse
        do throws(ProfileError) {
            let place = try ProfileAccess.checkSocket(note.socket, of: location)
            response = try ProfileAccess.ask(note.socket, of: place, .store) { _ in }
        } catch {
            // Who does not answer can still be unmounted, and stores then what can be stored.
            if case .olderMount = error {
                tell("The mount is of an older version of Coffer. It stores everything as it ends.")
            }
            return
        }
        guard case .failure(let code, let message) = response,
            code == ProfileError.vault(.noSpace).exitCode
        else { return }
        let reason = message.hasSuffix(".") ? String(message.dropLast()) : message
        throw .notStored(path: path, reason: reason, isUnmounted: false)
    }
}
