internal import CCrypto
internal import CofferSystem

/// SHA-256 (FIPS 180-4), which the protocols of others ask for; Coffer's own formats use BLAKE2b.
@safe
package struct SHA256: ~Copyable {
    /// The bytes of a hash.
    package static let byteCount = 32

    // SAFETY: this value owns the context from init to deinit, and cannot be copied.
    private let context: OpaquePointer

    /// Begins a hash of bytes that come piece by piece.
    package init() {
        guard let context = unsafe EVP_MD_CTX_new(), unsafe EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1
        else { preconditionFailure("libcrypto has no SHA-256") }
        unsafe self.context = unsafe context
    }

    deinit { unsafe EVP_MD_CTX_free(context) }

    /// Adds a piece.
    package mutating func add(_ piece: RawSpan) {
        unsafe piece.withPointer { bytes, count in _ = unsafe EVP_DigestUpdate(context, bytes, count) }
    }

    /// The hash of all pieces; nothing can be added afterwards.
    package consuming func finish() -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: Self.byteCount)
        unsafe EVP_DigestFinal_ex(context, &hash, nil)
        return hash
    }

    /// The hash of bytes that are all there.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        bytes.withRawSpan { hash.add($0) }
        return hash.finish()
    }

    /// HMAC-SHA-256 (RFC 2104) of a message.
    package static func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: byteCount)
        key.withRawSpan { key in
            message.withRawSpan { message in
                unsafe key.withPointer { key, keyCount in
                    unsafe message.withPointer { message, count in
                        _ = unsafe HMAC(EVP_sha256(), key, Int32(keyCount), message, count, &code, nil)
                    }
                }
            }
        }
        return code
    }
}
