internal import CofferSystem

extension SymmetricKey where Role == WrapRole {
    /// The key that two shared secrets agree on: unkeyed BLAKE2b-256 of "coffer/1/", the purpose, a zero
    /// byte, the secrets, and `context`.
    ///
    /// - Parameters:
    ///   - first: A shared secret of X25519, 32 bytes.
    ///   - second: A shared secret of X25519, 32 bytes.
    ///   - context: All public keys and ids that the key belongs to; of a fixed length.
    package static func agreed(
        _ first: borrowing SecretBytes, _ second: borrowing SecretBytes, context: [UInt8]
    ) -> SymmetricKey<WrapRole> {
        let purpose = Array("coffer/1/\(WrapRole.purpose)\0".utf8)
        let count = purpose.count + first.count + second.count + context.count
        let input = SecretBytes(count: count) { (input: inout MutableRawSpan) throws(Never) in
            unsafe input.copyBytes(from: purpose.span.bytes)
            first.withBytes { input.copyBytes(from: $0, at: purpose.count) }
            second.withBytes { input.copyBytes(from: $0, at: purpose.count + $0.byteCount) }
            unsafe input.copyBytes(from: context.span.bytes, at: count - context.count)
        }
        return SymmetricKey(Blake2b.secret(input))
    }
}

extension SymmetricKey where Role == ExportRecipientRole {
    /// The key that one shared secret agrees on: unkeyed BLAKE2b-256 of "coffer/1/", the purpose, a zero byte, the secret,
    /// and `context`.
    ///
    /// - Parameters:
    ///   - secret: A shared secret of X25519, 32 bytes.
    ///   - context: The public keys that the key belongs to; of a fixed length.
    package static func agreed(
        _ secret: borrowing SecretBytes, context: [UInt8]
    ) -> SymmetricKey<ExportRecipientRole> {
        let purpose = Array("coffer/1/\(ExportRecipientRole.purpose)\0".utf8)
        let count = purpose.count + secret.count + context.count
        let input = SecretBytes(count: count) { (input: inout MutableRawSpan) throws(Never) in
            unsafe input.copyBytes(from: purpose.span.bytes)
            secret.withBytes { input.copyBytes(from: $0, at: purpose.count) }
            unsafe input.copyBytes(from: context.span.bytes, at: count - context.count)
        }
        return SymmetricKey(Blake2b.secret(input))
    }
}

extension AgreementKey {
    /// Whether every shared secret with a public key would be all zeros.
    ///
    /// Such keys are refused where they are published; otherwise a member could make wrapping for others
    /// fail.
    package static func isWeak(_ publicKey: [UInt8]) -> Bool {
        // Secret keys are multiples of 8, so any of them reveals a weak public key.
        let probe = AgreementKey(
            secretKey: SecretBytes(count: byteCount) { (bytes: inout MutableRawSpan) throws(Never) in
                bytes.zero()
            })
        do throws(CryptoError) {
            _ = try probe.sharedSecret(with: publicKey)
            return false
        } catch {
            return true
        }
    }
}
