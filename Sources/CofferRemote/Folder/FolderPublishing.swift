package import CofferSystem

/// The ways to give an object its name only if the name is free.
package enum FolderPublishing: CaseIterable, Sendable {
    /// link(2), which fails if the name is taken; works nearly everywhere, including NFS.
    case link
    /// renameat2(2) with RENAME_NOREPLACE; for FAT, CIFS, and other file systems without links.
    case rename
    /// A claim on the name, made with O_EXCL, then a check, then rename(2).
    ///
    /// For file systems with neither of the others, such as some FUSE ones. Excludes all other processes that
    /// use claims, unless one of them pauses for hours between the steps.
    case claim
}

/// System calls that some file systems fail in unusual ways; tests replace them.
package struct FolderCalls: Sendable {
    /// Like link(2), from a name in a directory to a name in a directory.
    package var link: @Sendable (OpenDirectory, String, OpenDirectory, String) throws(SystemError) -> Void = {
        (from, name, target, newName) throws(SystemError) in try from.link(name, to: target, newName)
    }
    /// Like rename(2), for moving an obstacle out of the way.
    package var moveAside:
        @Sendable (OpenDirectory, String, OpenDirectory, String) throws(SystemError) -> Void =
            { (from, name, target, newName) throws(SystemError) in try from.rename(name, to: target, newName)
            }
    /// Like close(2) of a file that was written.
    package var flush: @Sendable (POSIXStorageFile) throws(SystemError) -> Void = {
        (file) throws(SystemError) in try file.flush()
    }

    /// The real system calls.
    package init() {}
}

extension FolderTree {
    /// Gives a temporary file its name, if that is free; afterwards the temporary name is gone or
    /// meaningless.
    ///
    /// - Throws: `.exists` if the name is taken.
    func publish(_ temporary: FolderTemporary, as name: String, in target: OpenDirectory) throws(RemoteError)
    {
        for way in publishing {
            do throws(SystemError) {
                switch way {
                case .link: return try link(temporary, as: name, in: target)
                case .rename:
                    return try temporary.directory.renameExclusively(temporary.name, to: target, name)
                case .claim: return try claim(temporary, as: name, in: target)
                }
            } catch {
                if way == publishing.last || !isMissing(way, error, beside: temporary) {
                    throw RemoteError(changing: error)
                }
            }
        }
        throw .unsupported("\(path) cannot create a name only if it is absent")
    }

    /// Whether an error means that the file system lacks a call.
    ///
    /// Two processes that publish in different ways could both succeed with the same name. So a single
    /// failure of the disk, or of the network, must not make a process try the next way.
    private func isMissing(
        _ way: FolderPublishing, _ error: SystemError, beside temporary: FolderTemporary
    ) -> Bool {
        if error.isNotSupported { return true }
        guard error.mayMeanNotSupported else { return false }
        return switch way {
        case .link: !hasLinks(beside: temporary)
        case .rename: !renamesExclusively(temporary)
        case .claim: true
        }
    }

    /// Whether the file system supports exclusive renames; tries it with a name that no other process uses.
    private func renamesExclusively(_ temporary: FolderTemporary) -> Bool {
        let (directory, probe) = (temporary.directory, temporary.name + ".probe")
        do throws(SystemError) {
            try directory.renameExclusively(temporary.name, to: directory, probe)
            try directory.rename(probe, to: directory, temporary.name)
            return true
        } catch {
            return !error.isNotSupported && !error.mayMeanNotSupported
        }
    }

    /// Whether the file system supports hard links; tries it with a name that no other process uses.
    private func hasLinks(beside temporary: FolderTemporary) -> Bool {
        let probe = temporary.name + ".probe"
        do throws(SystemError) {
            try calls.link(temporary.directory, temporary.name, temporary.directory, probe)
            try temporary.directory.removeFile(probe)
            return true
        } catch {
            // Any other error is left to the next attempt to publish.
            return !error.isNotSupported && !error.mayMeanNotSupported
        }
    }

    private func link(
        _ temporary: FolderTemporary, as name: String, in target: OpenDirectory
    ) throws(SystemError) {
        do throws(SystemError) {
            try calls.link(temporary.directory, temporary.name, target, name)
        } catch {
            // If the reply to the first request is lost, an NFS client repeats it, and finds its own name:
            // open(2), O_EXCL.
            guard error.isExisting, try temporary.file.status().linkCount > 1 else { throw error }
        }
    }

    private func claim(
        _ temporary: FolderTemporary, as name: String, in target: OpenDirectory
    ) throws(SystemError) {
        let claim = try FolderClaim(of: name, in: target, beside: temporary)
        defer { claim.remove() }
        if try target.status(of: name) != nil { throw .existing(name) }
        try temporary.directory.rename(temporary.name, to: target, name)
    }
}
