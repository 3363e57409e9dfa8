/// What can go wrong in this layer.
package enum CryptoError: Error, Equatable {
    /// The bytes are not what was sealed with this key, nonce and associated data.
    case authenticationFailed
    /// The system would not give the memory that Argon2id was told to use.
    case outOfMemory
    /// Argon2id parameters below the floor or above the ceiling of docs/format.md.
    case parametersOutOfRange
    /// A public key of low order: the shared secret would be known to anybody.
    case weakPublicKey
    /// A signature that the signer did not make over these bytes.
    case badSignature
}
