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
        guard status.kind != .regular else { return false }
        try moveAside(name, in: target, aside: incoming, unless: .regular)
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
            try moveAside(name, in: parent, aside: incoming, unless: .directory)
            return try changing { () throws(SystemError) in
                try parent.makeSubdirectory(name)
                return try parent.subdirectory(name)
            }
        }
    }

    /// Moves something into `.incoming`, whole: whoever made it may want it.
    ///
    /// - Parameter kind: What belongs there.
    private func moveAside(
        _ name: String, in target: OpenDirectory, aside incoming: OpenDirectory, unless kind: FileStatus.Kind
    ) throws(RemoteError) {
        let aside = Self.asidePrefix + String(UInt64.random(in: 0 ... .max), radix: 16)
        do throws(SystemError) { try target.rename(name, to: incoming, aside) } catch {
            // Somebody else was first.
            guard error.isMissing else { throw RemoteError(changing: error) }
            return
        }
        // What belongs there may have come meanwhile.
        let moved = try reading { () throws(SystemError) in try incoming.status(of: aside) }
        guard moved?.kind == kind else { return }
        try changing { () throws(SystemError) in try incoming.renameExclusively(aside, to: target, name) }
    }
}
