/// A user of a vault on one device, of whatever kind: files by path.
///
/// Paths have no leading slash. Calls throw the errors of the device.
public protocol VaultFiles: AnyObject {
    /// The name of the user in a case, such as "owner".
    var name: String { get }
    /// The name of the device in conflict names.
    var label: String { get }

    /// Writes a whole file, and makes it if it does not exist.
    func write(_ text: String, to path: String) throws
    /// The text of a file.
    func read(_ path: String) throws -> String
    func makeDirectory(_ path: String) throws
    /// Removes an entry; a directory must be empty.
    func remove(_ path: String) throws
    /// Moves an entry, and replaces an existing one.
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

/// A user of a vault, who syncs when told to.
public protocol VaultUser: VaultFiles {
    /// Sends the changes since the last sync, and applies those of others.
    ///
    /// - Returns: Whether there was anything to send or to apply.
    func sync() throws -> Bool
}

/// An expectation that a world does not meet.
public struct Disappointment: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
