package import CofferCrypto
internal import CofferSystem

/// Checks of a passphrase that a user chooses.
package enum NewPassphrase {
    /// The length that is advised; an attacker with a copy of the profile can try passphrases without limit.
    private static let byteCountMin = 10

    /// Whether an attacker with a copy of the profile may guess it, because it is too short.
    package static func isShort(_ passphrase: borrowing SecretBytes) -> Bool {
        passphrase.count < byteCountMin
    }

    /// Checks that a passphrase may be chosen.
    ///
    /// - Throws: `.emptyPassphrase`, `.hintTellsPassphrase`.
    static func check(_ passphrase: borrowing SecretBytes, hint: String?) throws(ClientError) {
        guard passphrase.count > 0 else { throw .profile(.emptyPassphrase) }
        if isTold(passphrase, by: hint) { throw .profile(.hintTellsPassphrase) }
    }

    /// Whether a hint contains the passphrase, ignoring the case of ASCII letters.
    ///
    /// Hints are obscured on disk, but not protected.
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
