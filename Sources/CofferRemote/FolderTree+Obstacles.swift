internal import CofferSystem
internal import Glibc

// What is no object is no obstacle: a directory, a pipe, a device or a symbolic link in an object's place, and anything
// but a directory where objects have one.
extension FolderTree {
    /// What the names of things begin with that were moved out of the way; they stay in `.incoming`.
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
            let incoming = try changing { () throws(SystemError) in
                try vault.makeSubdirectory(FolderTemporary.directoryName)
                return try vault.subdirectory(FolderTemporary.directoryName)
            }
            try moveFileAside(name, in: parent, aside: incoming)
            return try changing { () throws(SystemError) in
                try parent.makeSubdirectory(name)
                return try parent.subdirectory(name)
            }
        }
    }

    /// Moves a directory in an object's place into `.incoming`, whole: whoever made it may want it.
    private func moveDirectoryAside(
        _ name: String, in target: OpenDirectory, aside incoming: OpenDirectory
    ) throws(RemoteError) {
        do throws(SystemError) {
            // With "/" behind it, nothing else is moved: no object that has come meanwhile.
            try target.rename(name + "/", to: incoming, Self.asideName())
        } catch {
            // Somebody else was first.
            guard error.isMissing || error.isNotDirectory else { throw RemoteError(changing: error) }
        }
    }

    /// Moves what is no directory out of a directory's place into `.incoming`.
    private func moveFileAside(
        _ name: String, in target: OpenDirectory, aside incoming: OpenDirectory
    ) throws(RemoteError) {
        do throws(SystemError) {
            try target.link(name, to: incoming, Self.asideName())
            // This never removes a directory.
            try target.removeFile(name)
        } catch {
            let kind = (try? target.status(of: name))?.kind
            // Somebody else was first.
            guard error.isMissing || kind == nil || kind == .directory else {
                throw RemoteError(changing: error)
            }
        }
    }

    /// Moves a pipe, a device or a symbolic link out of an object's place into `.incoming`.
    private func moveSpecialAside(
        _ name: String, in target: OpenDirectory, aside incoming: OpenDirectory
    ) throws(RemoteError) {
        let aside = Self.asideName()
        do throws(SystemError) { try target.rename(name, to: incoming, aside) } catch {
            guard error.isMissing else { throw RemoteError(changing: error) }
            return
        }
        // An object may have come meanwhile: it goes back, unless another one has taken its place.
        let moved = try reading { () throws(SystemError) in try incoming.status(of: aside) }
        guard moved?.kind == .regular else { return }
        do throws(SystemError) {
            try incoming.link(aside, to: target, name)
            try incoming.removeFile(aside)
        } catch {
            if error.isExisting { return }
            guard error.isNotSupported else { throw RemoteError(changing: error) }
            try changing { () throws(SystemError) in try incoming.renameExclusively(aside, to: target, name) }
        }
    }

    private static func asideName() -> String {
        asidePrefix + String(UInt64.random(in: 0 ... .max), radix: 16)
    }
}
