package import CofferCrypto
package import CofferFormat

/// Why a pairing fails.
package enum PairingError: Error, Equatable {
    /// The other side does not speak this protocol, or a message was altered on the way.
    case altered(CryptoError)
    /// A message is not what the protocol says.
    case format(FormatError)
    /// A message came out of turn.
    case outOfTurn
    /// The revealed number is not the one that the other side had committed to: somebody is in the middle.
    case wrongCommitment
    /// The other device has ended the pairing.
    case refused(PairingRefusal)
    /// A signature was not made by the device that it should be by.
    case wrongSignature
    /// The transfer is larger than any that this program makes.
    case tooLarge
}

/// The digits that the person compares on both devices.
package struct PairingCode: Equatable, Sendable, CustomStringConvertible {
    /// How many digits it has.
    package static let digitCount = 8

    /// The digits, without spaces.
    package let digits: String

    /// Computes the code of a handshake and of the numbers of both sides.
    init(_ hash: [UInt8], _ authorizing: [UInt8], _ joining: [UInt8]) {
        let bytes = Blake2b.hash(hash + authorizing + joining, for: .pairingCode)
        let number = bytes.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let text = String(number % 100_000_000)
        digits = String(repeating: "0", count: Self.digitCount - text.utf8.count) + text
    }

    /// Whether a person has entered this code; spaces and hyphens do not matter.
    package func isSame(as text: String) -> Bool {
        text.filter { $0 != " " && $0 != "-" } == digits
    }

    /// The digits in two groups.
    package var description: String { "\(digits.prefix(4)) \(digits.suffix(4))" }
}
