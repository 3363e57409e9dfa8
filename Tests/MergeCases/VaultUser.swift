/// Somebody who uses a vault on one device, whatever that is made of: files by path.
///
/// Paths have no slash in front. Calls throw what the device says.
public protocol VaultFiles: AnyObject {
    /// What the user is called in a case, as "owner".
    var name: String { get }
    /// What the device is called in conflict names.
    var label: String { get }

    /// Writes a whole file, which is made if need be.
    func write(_ text: String, to path: String) throws
    /// The text of a file.
    func read(_ path: String) throws -> String
    func makeDirectory(_ path: String) throws
    /// Removes an entry; a directory must be empty.
    func remove(_ path: String) throws
    /// Moves an entry, in the place of what is there.
    func move(_ path: String, to other: String) throws
    /// Gives a file another name.
    func link(_ path: String, as other: String) throws
    func setMode(_ mode: UInt16, of path: String) throws
    func mode(of path: String) throws -> UInt16
    func setAttribute(_ name: String, to value: String, of path: String) throws
    func attribute(_ name: String, of path: String) throws -> String?
    /// The names in a directory, "" for the root; those of directories end with a slash.
    func names(in path: String) throws -> [String]
}

/// Somebody who uses a vault, and syncs when told to.
public protocol VaultUser: VaultFiles {
    /// Sends what was done since the last time, and applies what others sent.
    ///
    /// - Returns: Whether there was anything to send or to apply.
    func sync() throws -> Bool
}

/// What was expected of a world, and is not so.
public struct Disappointment: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
