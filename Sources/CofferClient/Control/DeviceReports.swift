/// The person's devices.
package struct DevicesReport: Codable, Sendable {
    /// All that are or were trusted, in the order in which they were added.
    package let devices: [Device]

    /// A device of the person.
    package struct Device: Codable, Sendable {
        /// Its name, as other members see it.
        package let name: String
        /// Its id: 32 hexadecimal digits.
        package let id: String
        /// The time when it was added, in seconds since 1970; absent if it was always the only one.
        package let added: Int64?
        /// Whether it is this device.
        package let isThis: Bool
        /// Whether it is trusted; if not, it was revoked.
        package let isTrusted: Bool
    }
}

/// How far a pairing is, for the command that started it.
package enum PairingStep: Codable, Sendable, Equatable {
    /// It waits for the other device at these addresses.
    case waiting([String])
    /// It connects to the other device.
    case connecting
    /// The person is to enter the code that the other device shows.
    case enterCode
    /// The person is to enter this code on the other device.
    case showCode(String)
    /// The person, whose name the other device says is this, is to say whether it has accepted the code.
    case confirm(name: String)
    /// The devices exchange what they need.
    case transferring
}

/// The result of a pairing.
package struct PairingReport: Codable, Sendable {
    /// The device that was authorized, or has received new keys.
    package let device: String
    /// Whether it is new in the list.
    package let isNew: Bool
    /// The names of vaults that are new on this device.
    package let vaults: [String]
}

/// What became of the person's answer.
package struct AnswerReport: Codable, Sendable {
    /// Whether the code is right; absent if it is not, and may be entered again.
    package let isRight: Bool?
}

/// The result of a revocation.
package struct RevocationReport: Codable, Sendable {
    /// The device that was revoked.
    package let device: String
    /// The vaults that have a remote.
    package let vaults: [Vault]
    /// The other devices, which need the new keys from this one.
    package let stale: [String]

    /// A vault that has a remote.
    package struct Vault: Codable, Sendable {
        /// Its name.
        package let name: String
        /// What became of its keys: rotated, owed (an owner's or admin's device rotates them), or waiting (the
        /// remote does not have the person's new keys yet).
        package let keys: String
        /// Why it could not be synced; absent if it could.
        package let failure: String?
    }
}
