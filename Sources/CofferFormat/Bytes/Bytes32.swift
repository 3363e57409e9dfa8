internal import CofferSystem

/// 32 bytes of one kind: a hash, or a public key.
///
/// Values compare byte by byte.
package struct Bytes32<Kind>: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The number of bytes.
    package static var byteCount: Int { 32 }

    // Big-endian, so that the words compare like the bytes.
    private let words: InlineWords

    private struct InlineWords: Hashable, Sendable {
        var first: UInt64 = 0
        var second: UInt64 = 0
        var third: UInt64 = 0
        var fourth: UInt64 = 0
    }

    /// Takes bytes, of which there must be 32.
    package init(_ bytes: [UInt8]) {
        precondition(bytes.count == Self.byteCount)
        func word(_ number: Int) -> UInt64 {
            bytes[8 * number..<8 * number + 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
        words = InlineWords(first: word(0), second: word(1), third: word(2), fourth: word(3))
    }

    private init(words: InlineWords) {
        self.words = words
    }

    /// 32 zero bytes.
    package static var zero: Self { Self(words: InlineWords()) }

    /// The 32 bytes.
    package var bytes: [UInt8] {
        [words.first, words.second, words.third, words.fourth].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64($0))) }
        }
    }

    /// 64 lower-case hexadecimal digits.
    package var description: String {
        let digits = Array("0123456789abcdef".utf8)
        let text = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }

    package static func < (left: Self, right: Self) -> Bool {
        let (left, right) = (left.words, right.words)
        return (left.first, left.second, left.third, left.fourth)
            < (right.first, right.second, right.third, right.fourth)
    }
}

/// Distinguishes hashes of links from other values.
package enum LinkHashKind {}
/// Distinguishes identity ids from other values.
package enum IdentityKind {}
/// Distinguishes hashes of wrap sets from other values.
package enum WrapSetHashKind {}
/// Distinguishes hashes of commits from other values.
package enum CommitHashKind {}
/// Distinguishes commitments to keys from other values.
package enum CommitmentKind {}
/// Distinguishes Ed25519 public keys from other values.
package enum SigningKind {}
/// Distinguishes X25519 public keys from other values.
package enum AgreementKind {}

/// The hash of a link of a trust chain.
package typealias LinkHash = Bytes32<LinkHashKind>
/// Identifies a person for all others: the hash of link 0 of the identity chain, which cannot be chosen.
package typealias IdentityID = Bytes32<IdentityKind>
/// The hash of a wrap set, as stored.
package typealias WrapSetHash = Bytes32<WrapSetHashKind>
/// The hash of a commit, as stored.
package typealias CommitHash = Bytes32<CommitHashKind>
/// Distinguishes the right key of an epoch from any other, and reveals nothing more about it.
package typealias EpochCommitment = Bytes32<CommitmentKind>
/// An Ed25519 public key.
package typealias SigningPublicKey = Bytes32<SigningKind>
/// An X25519 public key.
package typealias AgreementPublicKey = Bytes32<AgreementKind>
