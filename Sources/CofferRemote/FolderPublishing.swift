package import CofferSystem

/// Ways to give an object its name only where the name is free.
package enum FolderPublishing: CaseIterable, Sendable {
    /// link(2), which fails where the name is taken: nearly everywhere, NFS included.
    case link
    /// renameat2(2) with RENAME_NOREPLACE: FAT, CIFS, and others without links.
    case rename
    /// A claim on the name, made with O_EXCL, then a look, then rename(2): where there is neither of the others, as
    /// in some FUSE file systems. Keeps apart all who do the same, as long as none sleeps for hours between.
    case claim
}

/// Calls on a folder that file systems fail in ways of their own; tests make them fail.
package struct FolderCalls: Sendable {
    /// As link(2): from a name in a directory to a name in a directory.
    package var link: @Sendable (OpenDirectory, String, OpenDirectory, String) throws(SystemError) -> Void = {
        (from, name, target, newName) throws(SystemError) in try from.link(name, to: target, newName)
    }
    /// As rename(2), of what is in the way.
    package var moveAside:
        @Sendable (OpenDirectory, String, OpenDirectory, String) throws(SystemError) -> Void =
            { (from, name, target, newName) throws(SystemError) in try from.rename(name, to: target, newName)
            }
    /// As close(2) of a file that was written.
    package var flush: @Sendable (POSIXStorageFile) throws(SystemError) -> Void = {
        (file) throws(SystemError) in try file.flush()
    }

    /// Those of the system.
    package init() {}
}

extension FolderTree {
    /// Gives a temporary file its name, if that is free; then the temporary name is gone or without meaning.
    ///
    /// - Throws: `.exists`.
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

    /// Whether an error means that the file system does not have a call.
    ///
    /// Those who give names in different ways may give one twice: so nobody goes on to the next way only because the
    /// disk, or the network behind it, failed once.
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

    /// Whether a file can be moved to a name only if that is free, tried with a name that nobody else uses.
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

    /// Whether a file can have two names here, tried with a name that nobody else uses.
    private func hasLinks(beside temporary: FolderTemporary) -> Bool {
        let probe = temporary.name + ".probe"
        do throws(SystemError) {
            try calls.link(temporary.directory, temporary.name, temporary.directory, probe)
            try temporary.directory.removeFile(probe)
            return true
        } catch {
            // Anything else than that there are no links is for the next attempt to find out.
            return !error.isNotSupported && !error.mayMeanNotSupported
        }
    }

    private func link(
        _ temporary: FolderTemporary, as name: String, in target: OpenDirectory
    ) throws(SystemError) {
        do throws(SystemError) {
            try calls.link(temporary.directory, temporary.name, target, name)
        } catch {
            // Where the answer to the first request was lost, NFS repeats it and meets its own name: open(2), O_EXCL.
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
