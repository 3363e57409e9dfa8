internal import CofferSystem

extension SymmetricKey where Role == RecoveryRole {
    /// The number of random bytes in a recovery key.
    package static var secretByteCount: Int { 16 }

    /// Makes the key of 16 random bytes: with as many zeros after them.
    package init(secret: borrowing SecretBytes) {
        precondition(secret.count == Self.secretByteCount)
        self.init(
            secret.withBytes { secret in
                SecretBytes(count: Self.byteCount) { (bytes: inout MutableRawSpan) throws(Never) in
                    bytes.zero()
                    bytes.copyBytes(from: secret)
                }
            })
    }

    /// The 16 random bytes.
    package var secret: SecretBytes {
        bytes.withBytes { SecretBytes(copying: $0.extracting(0..<Self.secretByteCount)) }
    }
}
