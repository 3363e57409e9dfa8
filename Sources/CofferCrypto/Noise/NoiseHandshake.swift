internal import CofferSystem

// Noise_NX_25519_ChaChaPoly_SHA256 (Noise specification, revision 34, section 7.5): the initiator is anonymous, and
// the responder sends its static key.
//
//     -> e
//     <- e, ee, s, es
//
// The handshake by itself tells nobody who the other side is: whoever uses it compares the handshake hash.

/// The side of a handshake that connects.
package struct NoiseInitiator: ~Copyable {
    /// The first message, to be sent.
    package let first: [UInt8]
    private var state: NoiseState
    private let ephemeral: AgreementKey

    /// Begins a handshake.
    ///
    /// - Parameters:
    ///   - prologue: Bytes that both sides must have alike.
    ///   - payload: Bytes to send with the first message; they are not encrypted.
    ///   - ephemeral: Only a test chooses it.
    package init(
        prologue: [UInt8], payload: [UInt8] = [], ephemeral: consuming AgreementKey = .random()
    ) {
        var state = NoiseState(prologue: prologue)
        state.mixHash(ephemeral.publicKey)
        first = ephemeral.publicKey + state.seal(payload)
        self.state = state
        self.ephemeral = ephemeral
    }

    /// Reads the answer, which ends the handshake.
    ///
    /// - Throws: `.weakPublicKey`, `.authenticationFailed`.
    package consuming func finish(_ second: [UInt8]) throws(CryptoError) -> NoiseChannel {
        let keyByteCount = AgreementKey.byteCount
        let sealedByteCount = keyByteCount + NoiseCipher.tagByteCount
        guard
            (keyByteCount + sealedByteCount + NoiseCipher.tagByteCount...NoiseChannel.messageByteCountMax)
                .contains(second.count)
        else { throw .authenticationFailed }
        let peer = Array(second.prefix(keyByteCount))
        let sealed = Array(second[keyByteCount..<keyByteCount + sealedByteCount])
        state.mixHash(peer)
        state.mixKey(try ephemeral.sharedSecret(with: peer))
        let peerStatic = try state.open(sealed)
        state.mixKey(try ephemeral.sharedSecret(with: peerStatic))
        let payload = try state.open(Array(second[(keyByteCount + sealedByteCount)...]))
        let keys = state.split()
        return NoiseChannel(
            hash: state.hash, payload: payload, sending: NoiseCipher(keys.first.duplicate()),
            receiving: NoiseCipher(keys.second.duplicate()))
    }
}

/// The side of a handshake that is connected to.
package struct NoiseResponder: ~Copyable {
    /// The answer, to be sent.
    package let second: [UInt8]
    /// The bytes that came with the first message; they were not encrypted.
    package let payload: [UInt8]
    private let state: NoiseState

    /// Reads the first message and makes the answer.
    ///
    /// - Parameters:
    ///   - own: The static key; the other side learns its public half.
    ///   - reply: Bytes to send with the answer.
    ///   - ephemeral: Only a test chooses it.
    /// - Throws: `.weakPublicKey`, `.authenticationFailed`.
    package init(
        reading first: [UInt8], prologue: [UInt8], static own: borrowing AgreementKey, reply: [UInt8] = [],
        ephemeral: consuming AgreementKey = .random()
    ) throws(CryptoError) {
        guard (AgreementKey.byteCount...NoiseChannel.messageByteCountMax).contains(first.count) else {
            throw .authenticationFailed
        }
        let peer = Array(first.prefix(AgreementKey.byteCount))
        let shared = try ephemeral.sharedSecret(with: peer)
        let sharedByStatic = try own.sharedSecret(with: peer)
        var state = NoiseState(prologue: prologue)
        state.mixHash(peer)
        // There is no key yet, so this part is not sealed.
        payload = Array(first.dropFirst(AgreementKey.byteCount))
        state.mixHash(payload)
        state.mixHash(ephemeral.publicKey)
        state.mixKey(shared)
        let sealed = state.seal(own.publicKey)
        state.mixKey(sharedByStatic)
        second = ephemeral.publicKey + sealed + state.seal(reply)
        self.state = state
    }

    /// The channel, once the answer is sent.
    package consuming func channel() -> NoiseChannel {
        let keys = state.split()
        return NoiseChannel(
            hash: state.hash, payload: payload, sending: NoiseCipher(keys.second.duplicate()),
            receiving: NoiseCipher(keys.first.duplicate()))
    }
}

/// A channel after a handshake: messages in both directions, sealed and in order.
package struct NoiseChannel: ~Copyable {
    /// The largest size of any message, in bytes.
    package static let messageByteCountMax = 65535
    /// The most bytes that a message carries.
    package static let contentByteCountMax = messageByteCountMax - NoiseCipher.tagByteCount

    /// The handshake hash, which differs between any two handshakes; not a secret.
    package let hash: [UInt8]
    /// The bytes that the other side sent with the handshake.
    package let payload: [UInt8]
    private var sending: NoiseCipher
    private var receiving: NoiseCipher

    init(
        hash: [UInt8], payload: [UInt8], sending: consuming NoiseCipher, receiving: consuming NoiseCipher
    ) {
        self.hash = hash
        self.payload = payload
        self.sending = sending
        self.receiving = receiving
    }

    /// Seals the next message, of at most `contentByteCountMax` bytes.
    package mutating func seal(_ content: RawSpan) -> [UInt8] {
        precondition(content.byteCount <= Self.contentByteCountMax)
        return sending.seal(content, associated: [])
    }

    /// Opens the next message.
    ///
    /// - Throws: `.authenticationFailed`: the channel cannot be used any more.
    package mutating func open(_ message: [UInt8]) throws(CryptoError) -> SecretBytes {
        guard message.count <= Self.messageByteCountMax else { throw .authenticationFailed }
        return try unsafe receiving.open(message.span.bytes, associated: [])
    }
}
