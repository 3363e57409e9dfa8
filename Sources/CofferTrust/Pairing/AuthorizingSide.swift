package import CofferCrypto
package import CofferFormat

/// The side of a pairing that is a device of the person already; it is connected to (docs/trust.md, "Pairing").
///
/// The calls are made in the order in which they stand here. Each returns messages to be sent.
package struct AuthorizingSide: ~Copyable {
    /// The answer to the handshake, and the commitment; to be sent.
    package let beginning: [[UInt8]]
    private(set) var channel: PairingChannel
    private let number: [UInt8]
    private var challenge: [UInt8] = []

    /// Answers the first message of a handshake.
    ///
    /// - Throws: `.altered`, also if the other side does not speak this protocol.
    package init(reading first: [UInt8]) throws(PairingError) {
        do throws(CryptoError) {
            // The static key is made for this pairing alone, so that it tells a stranger who connects nothing.
            let responder = try NoiseResponder(
                reading: first, prologue: PairingChannel.prologue, static: .random())
            let second = responder.second
            var channel = PairingChannel(responder.channel())
            number = Random.bytes(32)
            let commitment = Blake2b.hash(channel.hash + number, for: .pairingCommitment)
            beginning = [second, channel.seal(.commitment(commitment))]
            self.channel = channel
        } catch {
            throw .altered(error)
        }
    }

    /// Reads the other side's number, and reveals this side's.
    ///
    /// The other side knows the code once the result is sent. From then on the pairing MUST NOT be repeated
    /// without the person: each repetition would be another guess of somebody in the middle.
    package mutating func reveal(
        after message: [UInt8]
    ) throws(PairingError) -> (reveal: [UInt8], code: PairingCode) {
        guard case .nonce(let other) = try channel.open(message) else { throw .outOfTurn }
        return (channel.seal(.reveal(number)), PairingCode(channel.hash, number, other))
    }

    /// Says that the codes are the same, and who the person is.
    package mutating func accept(_ user: UserID, _ name: String) -> [UInt8] {
        challenge = Random.bytes(32)
        return channel.seal(.acceptance(PairingAcceptance(challenge: challenge, user: user, name: name)))
    }

    /// Reads what the other device asks for; a new device's signature of the challenge is checked.
    ///
    /// - Throws: `.wrongSignature`, `.refused`, …
    package mutating func request(_ message: [UInt8]) throws(PairingError) -> PairingRequest {
        guard case .request(let request) = try channel.open(message) else { throw .outOfTurn }
        if case .new(let device, _, _) = request { try check(request, by: device.signing) }
        return request
    }

    /// Checks the signature of the challenge by a device that is known.
    package func check(_ request: PairingRequest, by key: SigningPublicKey) throws(PairingError) {
        do throws(CryptoError) {
            try SigningKey.verify(
                request.signature, of: channel.hash + challenge + request.signedFields, by: key.bytes,
                for: .pairingRequest)
        } catch {
            throw .wrongSignature
        }
    }

    /// The messages that give the other device what it needs.
    package mutating func transfer(
        _ transfer: borrowing SecretBytes, signing: borrowing SigningKey
    ) throws(PairingError) -> [[UInt8]] {
        guard transfer.count > 0, transfer.count <= PairingChannel.transferByteCountMax else {
            throw .tooLarge
        }
        let signature = signing.sign(channel.signedTransfer(transfer), for: .pairingTransfer)
        let head = channel.seal(.transfer(byteCount: UInt32(transfer.count), signature: signature))
        return [head] + channel.pieces(of: transfer)
    }

    /// Reads that the other device has stored everything.
    package mutating func finish(_ message: [UInt8]) throws(PairingError) {
        guard case .done = try channel.open(message) else { throw .outOfTurn }
    }

    /// Ends the pairing; possible at any time.
    package mutating func refuse(_ reason: PairingRefusal) -> [UInt8] { channel.refusing(reason) }
}
