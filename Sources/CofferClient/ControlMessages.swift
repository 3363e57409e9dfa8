internal import FoundationEssentials

/// What a command asks of a profile, whether that is mounted or opened for the command alone.
package enum ControlRequest: Codable, Sendable {
    case status
    /// Brings all that was changed to disk.
    case store
    case createVault(name: String)
    case renameVault(name: String, newName: String)
    case deleteVault(name: String)
    case check(vault: String?)
    /// Passphrases cross the socket, which only this user can reach, and no disk.
    case changePassphrase(old: [UInt8], new: [UInt8], hint: String?, passes: UInt32, memory: UInt32)
}

/// What comes back, one after the other; the last is not `progress`.
package enum ControlResponse: Codable, Sendable {
    case progress(Progress)
    case done
    case status(StatusReport)
    case check(CheckReport)
    case failure(code: Int32, message: String)
}

/// How far long work has come.
package struct Progress: Codable, Sendable {
    /// How much is done, in the unit of `total`: for a check, bytes of content.
    package let done: Int
    /// How much there is to do; may grow meanwhile.
    package let total: Int

    package init(done: Int, total: Int) {
        self.done = done
        self.total = total
    }
}

/// What `coffer status` and `coffer vault list` tell; `--json` prints it as it is.
package struct StatusReport: Codable, Sendable {
    /// The path of the profile's directory.
    package let profile: String
    /// The person's name.
    package let name: String
    /// This machine's name.
    package let device: String
    /// Absent if not mounted.
    package let mountPoint: String?
    /// Every vault of the profile, also one that could not be opened.
    package let vaults: [VaultReport]
    /// Absent if it could not be asked, as when no vault is open.
    package let disk: DiskReport?
    /// The latest, oldest first.
    package let problems: [ProblemReport]
}

/// A vault in a report.
package struct VaultReport: Codable, Sendable {
    /// Unique in the profile.
    package let name: String
    /// The vault id: 32 hexadecimal digits.
    package let id: String
    /// When it was made, seconds since 1970.
    package let created: Int64
    /// The epoch that new data is sealed under.
    package let epoch: UInt32
    /// Whether it could be opened.
    package let isOpen: Bool
    /// Items, the root included.
    package let items: Int64
    /// Bytes of content.
    package let contentBytes: Int64
    /// Bytes that the vault's store takes on this disk.
    package let storeBytes: Int64
    /// Why nothing can be written, if so.
    package let stopped: String?
}

/// The disk that holds the profile, in bytes.
package struct DiskReport: Codable, Sendable {
    /// Bytes in all.
    package let total: Int
    /// Bytes that users other than root can still write.
    package let available: Int
}

/// Something that went wrong in a mount.
package struct ProblemReport: Codable, Sendable {
    /// Seconds since 1970.
    package let time: Int64
    /// What went wrong, for people; may name files.
    package let text: String
}

/// What `coffer check` found.
package struct CheckReport: Codable, Sendable {
    /// One for each vault that was to be checked.
    package let vaults: [VaultCheck]

    /// Whether nothing is hurt.
    package var isClean: Bool { vaults.allSatisfy(\.damage.isEmpty) }
}

/// What was found in one vault.
package struct VaultCheck: Codable, Sendable {
    /// The vault's name.
    package let vault: String
    /// Items that were met, the root included; 0 if the vault could not be opened.
    package let items: Int
    /// Blocks of content that were read, those that are hurt included.
    package let blocks: Int
    /// Bytes of content that were read, those that are hurt included.
    package let bytes: Int
    /// All that is hurt; empty if nothing is.
    package let damage: [Damage]

    /// Something that is hurt.
    package struct Damage: Codable, Sendable {
        /// The file, as a path in the vault; absent where no file can be named.
        package let path: String?
        /// Offset of the first byte of the file that cannot be read; absent where no bytes can be named.
        package let from: Int64?
        /// Offset behind the last of these bytes; absent with `from`.
        package let to: Int64?
        /// What is wrong, for people.
        package let text: String
    }
}

/// Messages as lines of JSON.
enum ControlCoding {
    static func encode(_ message: some Encodable) throws(ProfileError) -> [UInt8] {
        do {
            return [UInt8](try JSONEncoder().encode(message)) + [UInt8(ascii: "\n")]
        } catch {
            throw .control("A message could not be written: \(error)")
        }
    }

    static func decode<Message: Decodable>(_ type: Message.Type, _ line: [UInt8]) throws(ProfileError)
        -> Message
    {
        do {
            return try JSONDecoder().decode(type, from: Data(line))
        } catch {
            throw .control("The answer of the mount makes no sense; is it another version of coffer?")
        }
    }
}
