/// The errors of this layer.
package enum CryptoError: Error, Equatable {
    /// The bytes were not sealed with this key, nonce, and associated data.
    case authenticationFailed
    /// The system did not provide the memory that the parameters of Argon2id require.
    case outOfMemory
    /// Parameters of Argon2id are below the minimum or above the maximum of docs/format.md.
    case parametersOutOfRange
    /// A public key has low order, so anybody would know the shared secret.
    case weakPublicKey
    /// The signer did not make this signature over these bytes.
    case badSignature
}
