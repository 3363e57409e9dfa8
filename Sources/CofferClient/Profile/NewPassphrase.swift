package import CofferCrypto
internal import CofferSystem

/// What there is to say of a passphrase that somebody chooses.
package enum NewPassphrase {
    /// Bytes that a passphrase should have at least: a copy of the profile can be tried for ever.
    private static let byteCountMin = 10

    /// Whether it is so short that somebody who has a copy of the profile may find it.
    package static func isShort(_ passphrase: borrowing SecretBytes) -> Bool {
        passphrase.count < byteCountMin
    }

    /// Whether a hint has the passphrase in it: hints are hidden, and not protected.
    static func isTold(_ passphrase: borrowing SecretBytes, by hint: String?) -> Bool {
        guard let hint else { return false }
        let told = hint.utf8.map(lowered)
        var secret = passphrase.withBytes { $0.array }
        defer { SecretBytes.wipe(&secret) }
        for index in secret.indices { secret[index] = lowered(secret[index]) }
        guard !secret.isEmpty, told.count >= secret.count else { return false }
        return (0...told.count - secret.count).contains { told[$0..<$0 + secret.count] == secret[...] }
    }

    private static func lowered(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
