internal import CSodium
internal import CofferSystem

/// ChaCha20-Poly1305 with a counter as its nonce: the cipher of one direction of a Noise channel.
///
/// Section 5.1 of the Noise specification, revision 34.
struct NoiseCipher: ~Copyable {
    /// The largest number of a message; the next one is reserved by the specification.
    private static let numberMax = UInt64.max - 1
    private static let nonceByteCount = 12
    static let tagByteCount = 16

    private let key: SecretBytes
    private var number: UInt64 = 0

    init(_ key: consuming SecretBytes) {
        precondition(key.count == 32)
        self.key = key
    }

    /// Seals the next message.
    mutating func seal(_ plaintext: RawSpan, associated: [UInt8]) -> [UInt8] {
        precondition(number <= Self.numberMax)
        let nonce = Self.nonce(number)
        var sealed = [UInt8](repeating: 0, count: plaintext.byteCount + Self.tagByteCount)
        key.withBytes { key in
            unsafe key.withPointer { key, _ in
                unsafe plaintext.withPointer { input, count in
                    _ = unsafe crypto_aead_chacha20poly1305_ietf_encrypt(
                        &sealed, nil, input, UInt64(count), associated, UInt64(associated.count), nil, nonce,
                        key)
                }
            }
        }
        number += 1
        return sealed
    }

    /// Opens the next message; after a failure the same number is expected again.
    ///
    /// - Throws: `.authenticationFailed`.
    mutating func open(_ sealed: RawSpan, associated: [UInt8]) throws(CryptoError) -> SecretBytes {
        guard sealed.byteCount >= Self.tagByteCount, number <= Self.numberMax else {
            throw .authenticationFailed
        }
        let nonce = Self.nonce(number)
        var result: Int32 = -1
        let plaintext = key.withBytes { key in
            SecretBytes(count: sealed.byteCount - Self.tagByteCount) {
                (output: inout MutableRawSpan) throws(Never) in
                unsafe output.withPointer { output, _ in
                    unsafe key.withPointer { key, _ in
                        unsafe sealed.withPointer { input, count in
                            result = unsafe crypto_aead_chacha20poly1305_ietf_decrypt(
                                output, nil, nil, input, UInt64(count), associated, UInt64(associated.count),
                                nonce, key)
                        }
                    }
                }
            }
        }
        guard result == 0 else { throw .authenticationFailed }
        number += 1
        return plaintext
    }

    /// Four zero bytes, then the number, as the specification says for ChaCha20-Poly1305.
    private static func nonce(_ number: UInt64) -> [UInt8] {
        [0, 0, 0, 0] + (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    }
}
