package import CofferCrypto
package import CofferFormat

/// The side of a pairing that connects: a new device, or one that needs the person's new keys
/// (docs/trust.md, "Pairing").
///
/// The calls are made in the order in which they stand here.
package struct JoiningSide: ~Copyable {
    private var channel: PairingChannel
    private let number: [UInt8]
    private var commitment: [UInt8] = []
    private var byteCount = 0
    private var signature: [UInt8] = []
    private let arrived = ArrivedBytes()

    /// The first message of a handshake.
    package struct Hello: ~Copyable {
        private let initiator: NoiseInitiator
        /// To be sent.
        package let message: [UInt8]

        /// Begins a handshake.
        package init() {
            initiator = NoiseInitiator(prologue: PairingChannel.prologue)
            message = initiator.first
        }

        /// Reads the answer to the handshake.
        fileprivate consuming func finish(_ answer: [UInt8]) throws(CryptoError) -> NoiseChannel {
            try initiator.finish(answer)
        }
    }

    /// Ends the handshake.
    package init(_ hello: consuming Hello, answer: [UInt8]) throws(PairingError) {
        do throws(CryptoError) { channel = PairingChannel(try hello.finish(answer)) } catch {
            throw .altered(error)
        }
        number = Random.bytes(32)
    }

    /// Reads the other side's commitment, and returns this side's number, to be sent.
    package mutating func number(after message: [UInt8]) throws(PairingError) -> [UInt8] {
        guard case .commitment(let commitment) = try channel.open(message) else { throw .outOfTurn }
        self.commitment = commitment
        return channel.seal(.nonce(number))
    }

    /// Reads the number that the other side reveals.
    ///
    /// - Throws: `.wrongCommitment` if it is not the one that the other side had committed to.
    package mutating func code(after message: [UInt8]) throws(PairingError) -> PairingCode {
        guard case .reveal(let other) = try channel.open(message) else { throw .outOfTurn }
        guard Blake2b.hash(channel.hash + other, for: .pairingCommitment) == commitment else {
            throw .wrongCommitment
        }
        return PairingCode(channel.hash, other, number)
    }

    /// Reads that the person has found the codes to be the same on the other device.
    ///
    /// Somebody in the middle could send this too, so the person confirms it here as well.
    package mutating func acceptance(_ message: [UInt8]) throws(PairingError) -> PairingAcceptance {
        guard case .acceptance(let acceptance) = try channel.open(message) else { throw .outOfTurn }
        return acceptance
    }

    /// Asks to become a device of the person.
    ///
    /// - Parameter operation: What adds the device to the chain: `DeviceOperation.adding`.
    package mutating func ask(
        _ operation: DeviceOperation, _ acceptance: PairingAcceptance, signing: borrowing SigningKey
    ) throws(PairingError) -> [UInt8] {
        guard case .addDevice(let device, let possession) = operation else { throw .outOfTurn }
        let unsigned = PairingRequest.new(device, possession: possession, signature: [])
        let signature = sign(unsigned, acceptance, signing)
        return channel.seal(.request(.new(device, possession: possession, signature: signature)))
    }

    /// Asks for the person's present keys, as a device that is in the chain.
    package mutating func ask(
        _ device: DeviceID, _ acceptance: PairingAcceptance, signing: borrowing SigningKey
    ) -> [UInt8] {
        let signature = sign(.known(device, signature: []), acceptance, signing)
        return channel.seal(.request(.known(device, signature: signature)))
    }

    private func sign(
        _ request: PairingRequest, _ acceptance: PairingAcceptance, _ signing: borrowing SigningKey
    ) -> [UInt8] {
        signing.sign(channel.hash + acceptance.challenge + request.signedFields, for: .pairingRequest)
    }

    /// Reads how long the transfer is; its pieces follow.
    package mutating func begin(transfer message: [UInt8]) throws(PairingError) {
        guard case .transfer(let byteCount, let signature) = try channel.open(message) else {
            throw .outOfTurn
        }
        guard byteCount > 0, byteCount <= PairingChannel.transferByteCountMax else { throw .tooLarge }
        self.byteCount = Int(byteCount)
        self.signature = signature
        arrived.bytes.reserveCapacity(self.byteCount)
    }

    /// Reads a piece of the transfer.
    ///
    /// - Returns: The whole transfer, once this was its last piece; nil before.
    package mutating func add(piece message: [UInt8]) throws(PairingError) -> SecretBytes? {
        try channel.open(piece: message, into: &arrived.bytes, byteCount: byteCount)
        guard arrived.bytes.count == byteCount else { return nil }
        defer { arrived.bytes = [] }
        return SecretBytes(moving: &arrived.bytes)
    }

    /// Checks that a device of the person has signed the transfer.
    package func check(
        _ transfer: borrowing SecretBytes, by devices: [DeviceOperation.Device]
    ) throws(PairingError) {
        let signed = channel.signedTransfer(transfer)
        for device in devices {
            do throws(CryptoError) {
                return try SigningKey.verify(
                    signature, of: signed, by: device.signing.bytes, for: .pairingTransfer)
            } catch {
                continue
            }
        }
        throw .wrongSignature
    }

    /// Says that everything is stored.
    package mutating func done() -> [UInt8] { channel.seal(.done) }

    /// Ends the pairing; possible at any time.
    package mutating func refuse(_ reason: PairingRefusal) -> [UInt8] { channel.refusing(reason) }
}

/// What has arrived of a transfer; overwritten at the end, also of a pairing that is cut off.
private final class ArrivedBytes {
    var bytes: [UInt8] = []

    deinit { SecretBytes.wipe(&bytes) }
}
