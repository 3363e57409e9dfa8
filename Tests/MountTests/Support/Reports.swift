import Foundation

/// What `coffer status --json` prints, as a script would read it.
struct StatusReport: Decodable {
    let profile: String
    let name: String
    let device: String
    let mountPoint: String?
    let detachedFrom: String?
    let vaults: [VaultReport]
    let disk: Disk?
    let problems: [Problem]

    struct Disk: Decodable {
        let available: Int
        let reserve: Int?
    }

    struct Problem: Decodable {
        let time: Int64
        let text: String
    }
}

/// What `coffer vault info --json` prints.
struct VaultReport: Decodable {
    let name: String
    let id: String
    let created: Int64
    let epoch: UInt32
    let isOpen: Bool
    let items: Int64
    let contentBytes: Int64
    let storeBytes: Int64
    let stopped: String?
    let unstored: String?
    let sync: Sync?

    struct Sync: Decodable {
        let findings: [String]
        let failure: String?
        let unsentItems: Int
    }
}

/// What `coffer check --json` prints.
struct CheckReport: Decodable {
    let vaults: [Vault]

    struct Vault: Decodable {
        let vault: String
        let items: Int
        let blocks: Int
        let bytes: Int
        let damage: [Damage]
    }

    struct Damage: Decodable, CustomStringConvertible {
        let path: String?
        let from: Int64?
        let to: Int64?
        let text: String

        var description: String { "\(path ?? "-") \(from ?? -1)..<\(to ?? -1): \(text)" }
    }

    var damage: [Damage] { vaults.flatMap(\.damage) }
}

extension Command.Result {
    /// Reads the output as JSON.
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try JSONDecoder().decode(type, from: Data(output.utf8))
    }
}
