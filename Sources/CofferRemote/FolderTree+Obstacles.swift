internal import CofferSystem
internal import Glibc

// What is no object is no obstacle: a directory, a pipe, a device or a symbolic link in an object's place, and anything
// but a directory where objects have one.
extension FolderTree {
    /// What the names of things begin with that were moved out of the way, into `.incoming`.
    ///
    /// Those that stay where they were have a "." in front of it, so that no object has such a name.
    static var asidePrefix: String { "aside." }

    /// Moves what is in an object's place out of the way, unless that is an object.
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

    /// Opens a directory that objects lie in, and makes it if it is missing, or something else is in its place.
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
            // The folder and its vaults are others' to arrange; below a vault is nothing but objects.
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

    /// Opens a vault's directory of temporary files, and makes it if it is missing, or something else is in its place.
    func openIncoming(in vault: OpenDirectory) throws(RemoteError) -> OpenDirectory {
        let name = FolderTemporary.directoryName
        do throws(SystemError) {
            try vault.makeSubdirectory(name)
            return try vault.subdirectory(name)
        } catch {
            guard error.isNotDirectory || error.isNoFile else { throw RemoteError(changing: error) }
        }
        // Not into itself.
        try moveFileAside(name, in: vault, aside: nil)
        return try changing { () throws(SystemError) in
            try vault.makeSubdirectory(name)
            return try vault.subdirectory(name)
        }
    }

    /// Moves a directory in an object's place out of the way, whole: whoever made it may want it.
    private func moveDirectoryAside(
        _ name: String, in target: OpenDirectory, aside incoming: OpenDirectory
    ) throws(RemoteError) {
        // With "/" behind it, nothing else is moved: no object that has come meanwhile.
        try moveAside(name + "/", in: target, to: incoming)
    }

    /// Moves what is no directory out of a directory's place.
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
            // Somebody else was first.
            if error.isMissing || kind == nil || kind == .directory { return }
        }
        // Not all file systems have links, and Linux allows none to files of others that one may not write.
        guard let moved = try moveAside(name, in: target, to: incoming) else { return }
        // A directory may have come meanwhile: it goes back, unless another one has taken its place.
        let status = try reading { () throws(SystemError) in try moved.directory.status(of: moved.name) }
        guard status?.kind == .directory else { return }
        do throws(SystemError) {
            try moved.directory.renameExclusively(moved.name, to: target, name)
        } catch {
            guard error.isExisting else { throw RemoteError(changing: error) }
        }
    }

    /// Moves a pipe, a device or a symbolic link out of an object's place.
    private func moveSpecialAside(
        _ name: String, in target: OpenDirectory, aside incoming: OpenDirectory
    ) throws(RemoteError) {
        guard let moved = try moveAside(name, in: target, to: incoming) else { return }
        // An object may have come meanwhile: it goes back, unless another one has taken its place.
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

    /// Where something was moved to.
    private struct Moved {
        let directory: OpenDirectory
        let name: String
    }

    /// Moves something into `.incoming`, or where that is not allowed to a name beside it which no object has: who may
    /// not write a directory may not move it into another one.
    ///
    /// - Returns: Nil where it is not there any more: somebody else was first.
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
