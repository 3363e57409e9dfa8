/// An old version of a file that programs have open, as it can be kept without keys: without its name.
package struct OutdatedVersion: Codable, Sendable, Hashable {
    /// The name that it gets in place of its own, if a program writes to it.
    private static let name = Array("Recovered file".utf8)

    /// Its number.
    package let item: Int64
    /// The directory of the new version.
    let parent: Int64
    /// Whether another device removed the file.
    let isRemoved: Bool

    /// The name that keeps it.
    var place: Vault.Name { Vault.Name(Self.name, in: parent) }
}
