internal import CofferSystem
internal import Glibc

// Anything that is not an object must not block one: a directory, a pipe, a device, or a symbolic link in an
// object's place, and anything but a directory in a directory's place.
extension FolderTree {
    /// The prefix of the names that obstacles get when they are moved into `.incoming`.
    ///
    /// An obstacle that has to stay in its directory also gets a leading ".", so that no object has such a
    /// name.
    static var asidePrefix: String { "aside." }

    /// Moves whatever is in an object's place out of the way, unless it is an object.
    ///
    /// - Returns: Whether the place is free.
    func clearPlace(
        _ name: String, in target: OpenDirectory, aside incoming: OpenDirectory
    ) throws(RemoteError) -> Bool {
        let status = try reading { () throws(SystemError) in try target.status(of: name) }
        guard let status else { return true }
        switch status.kind {
        case .regular: return false
        case .directory: try moveDirectoryAside(name, in: target, aside: incoming)
        default: try moveSpecialAside(name, in: target, aside: incoming)
        }
        return true
    }

    /// Opens a directory for objects; makes it if it is missing, or if something else is in its place.
    func makeDirectory(
        _ name: String, in parent: OpenDirectory, aside vault: OpenDirectory?
    ) throws(RemoteError) -> OpenDirectory {
        do throws(RemoteError) {
            return try changing { () throws(SystemError) in
                do throws(SystemError) { return try parent.subdirectory(name) } catch {
                    guard error.isMissing else { throw error }
                    try parent.makeSubdirectory(name)
                    return try parent.subdirectory(name)
                }
            }
        } catch {
            // The folder and the directories of its vaults are for users to arrange; below a vault there are
            // only objects.
            guard case .refused = error, let vault,
                let status = try? parent.status(of: name), status.kind != .directory
            else { throw error }
            try moveFileAside(name, in: parent, aside: try openIncoming(in: vault))
            return try changing { () throws(SystemError) in
                try parent.makeSubdirectory(name)
                return try parent.subdirectory(name)
            }
        }
    }

    /// Opens a vault's directory of temporary files; makes it if it is missing, or if something else is in
    /// its place.
    func openIncoming(in vault: OpenDirectory) throws(RemoteError) -> OpenDirectory {
        let name = FolderTemporary.directoryName
        do throws(SystemError) {
            try vault.makeSubdirectory(name)
            return try vault.subdirectory(name)
        } catch {
            guard error.isNotDirectory || error.isNoFile else { throw RemoteError(changing: error) }
        }
        // `.incoming` itself cannot take the obstacle.
        try moveFileAside(name, in: vault, aside: nil)
        return try changing { () throws(SystemError) in
            try vault.makeSubdirectory(name)
            return try vault.subdirectory(name)
        }
    }

    /// Moves a directory out of an object's place as a whole, since its maker may want it.
    private func moveDirectoryAside(
        _ name: String, in target: OpenDirectory, aside incoming: OpenDirectory
    ) throws(RemoteError) {
        // The trailing "/" restricts the rename to directories, so that an object that just arrived is not
        // moved.
        try moveAside(name + "/", in: target, to: incoming)
    }

    /// Moves anything but a directory out of a directory's place.
    private func moveFileAside(
        _ name: String, in target: OpenDirectory, aside incoming: OpenDirectory?
    ) throws(RemoteError) {
        do throws(SystemError) {
            let aside = Self.asideName()
            try calls.link(target, name, incoming ?? target, incoming == nil ? "." + aside : aside)
            // This never removes a directory.
            try target.removeFile(name)
            return
        } catch {
            let kind = (try? target.status(of: name))?.kind
            // Another process was faster.
            if error.isMissing || kind == nil || kind == .directory { return }
        }
        // Not all file systems have links, and Linux refuses a link to another user's file that this user
        // cannot write.
        guard let moved = try moveAside(name, in: target, to: incoming) else { return }
        // A directory may have arrived in the meantime: it is moved back, unless another one has taken its
        // place.
        let status = try reading { () throws(SystemError) in try moved.directory.status(of: moved.name) }
        guard status?.kind == .directory else { return }
        do throws(SystemError) {
            try moved.directory.renameExclusively(moved.name, to: target, name)
        } catch {
            guard error.isExisting else { throw RemoteError(changing: error) }
        }
    }

    /// Moves a pipe, a device, or a symbolic link out of an object's place.
    private func moveSpecialAside(
        _ name: String, in target: OpenDirectory, aside incoming: OpenDirectory
    ) throws(RemoteError) {
        guard let moved = try moveAside(name, in: target, to: incoming) else { return }
        // An object may have arrived in the meantime: it is moved back, unless another one has taken its
        // place.
        let status = try reading { () throws(SystemError) in try moved.directory.status(of: moved.name) }
        guard status?.kind == .regular else { return }
        do throws(SystemError) {
            try moved.directory.link(moved.name, to: target, name)
            try moved.directory.removeFile(moved.name)
        } catch {
            if error.isExisting { return }
            guard error.isNotSupported else { throw RemoteError(changing: error) }
            try changing { () throws(SystemError) in
                try moved.directory.renameExclusively(moved.name, to: target, name)
            }
        }
    }

    /// The new place of an obstacle.
    private struct Moved {
        let directory: OpenDirectory
        let name: String
    }

    /// Moves an obstacle into `.incoming`, or, where that is not allowed, to a name in its own directory that
    /// no object has.
    ///
    /// Moving a directory into another one requires the right to write the moved directory.
    ///
    /// - Returns: Nil if it is gone: another process was faster.
    @discardableResult
    private func moveAside(
        _ name: String, in target: OpenDirectory, to incoming: OpenDirectory?
    ) throws(RemoteError) -> Moved? {
        let aside = Self.asideName()
        if let incoming {
            do throws(SystemError) {
                try calls.moveAside(target, name, incoming, aside)
                return Moved(directory: incoming, name: aside)
            } catch {
                if error.isMissing || error.isNotDirectory { return nil }
                guard error.isForbidden || error.isOtherFileSystem else { throw RemoteError(changing: error) }
            }
        }
        do throws(SystemError) {
            try calls.moveAside(target, name, target, "." + aside)
            return Moved(directory: target, name: "." + aside)
        } catch {
            guard error.isMissing || error.isNotDirectory else { throw RemoteError(changing: error) }
            return nil
        }
    }

    private static func asideName() -> String {
        asidePrefix + String(UInt64.random(in: 0 ... .max), radix: 16)
    }
}
