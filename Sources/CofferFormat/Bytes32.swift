internal import CofferSystem

/// 32 bytes of one kind: a hash, or a public key.
///
/// The order is that of the bytes.
package struct Bytes32<Kind>: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// Bytes of each.
    package static var byteCount: Int { 32 }

    // Big-endian, so that numbers and bytes have one order.
    private let words: InlineWords

    private struct InlineWords: Hashable, Sendable {
        var first: UInt64 = 0
        var second: UInt64 = 0
        var third: UInt64 = 0
        var fourth: UInt64 = 0
    }

    /// Takes 32 bytes, which the caller knows to be as many.
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

/// Tells hashes of links from others.
package enum LinkHashKind {}
/// Tells identities from others.
package enum IdentityKind {}
/// Tells hashes of wrap sets from others.
package enum WrapSetHashKind {}
/// Tells hashes of commits from others.
package enum CommitHashKind {}
/// Tells commitments to keys from others.
package enum CommitmentKind {}
/// Tells Ed25519 public keys from others.
package enum SigningKind {}
/// Tells X25519 public keys from others.
package enum AgreementKind {}

/// The hash of a link of a trust chain.
package typealias LinkHash = Bytes32<LinkHashKind>
/// Names a person for all others: the hash of link 0 of the identity chain, which nobody can choose.
package typealias IdentityID = Bytes32<IdentityKind>
/// The hash of a set of wraps, as stored.
package typealias WrapSetHash = Bytes32<WrapSetHashKind>
/// The hash of a commit, as stored.
package typealias CommitHash = Bytes32<CommitHashKind>
/// What tells the right key of an epoch from any other, and nothing more about it.
package typealias EpochCommitment = Bytes32<CommitmentKind>
/// An Ed25519 public key.
package typealias SigningPublicKey = Bytes32<SigningKind>
/// An X25519 public key.
package typealias AgreementPublicKey = Bytes32<AgreementKind>
