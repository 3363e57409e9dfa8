package import CofferFormat

/// Why a device ends a pairing that is under way, as it tells the other one.
package enum PairingRefusal: UInt8, Sendable, CaseIterable {
    /// The person says that the codes differ.
    case codesDiffer = 1
    /// The device that asks, or one of its keys, is or was in the device chain.
    case usedBefore = 2
    /// The device that asks for the person's new keys is not a device of this person.
    case unknownDevice = 3
    /// The device that asks for the person's new keys was revoked.
    case revoked = 4
    /// Another device of the person has the name.
    case nameTaken = 5
    /// The person ended the pairing, or did not answer in time.
    case cancelled = 6
    /// The device could not read or store what it needs.
    case failed = 7
}

/// What a device of the person states once the codes are the same.
package struct PairingAcceptance: Equatable, Sendable {
    /// Random bytes, which the other device signs.
    package let challenge: [UInt8]
    /// The id of the person's device chain.
    package let user: UserID
    /// The person's name.
    package let name: String

    package init(challenge: [UInt8], user: UserID, name: String) {
        self.challenge = challenge
        self.user = user
        self.name = name
    }
}

/// What the other device asks for.
package enum PairingRequest: Equatable, Sendable {
    /// To become a device of the person: the operation of the device chain that adds it.
    case new(DeviceOperation.Device, possession: [UInt8], signature: [UInt8])
    /// To receive the person's present keys: the device is in the chain already.
    case known(DeviceID, signature: [UInt8])

    /// The fields before the signature of the challenge.
    var signedFields: [UInt8] {
        var writer = ByteWriter()
        switch self {
        case .new(let device, let possession, _):
            writer.number(UInt8(1))
            let fields = DeviceOperation.addDevice(device, possession: possession).body
            writer.number(UInt16(fields.count))
            writer.append(fields)
        case .known(let device, _):
            writer.number(UInt8(2))
            writer.identifier(device)
        }
        return writer.finish()
    }

    /// The signature of the challenge.
    var signature: [UInt8] {
        switch self {
        case .new(_, _, let signature), .known(_, let signature): signature
        }
    }
}

/// A message of a pairing after the handshake, except the parts of a transfer (docs/trust.md, "Pairing").
enum PairingMessage: Equatable {
    case commitment([UInt8])
    case nonce([UInt8])
    case reveal([UInt8])
    case acceptance(PairingAcceptance)
    case request(PairingRequest)
    case transfer(byteCount: UInt32, signature: [UInt8])
    case done
    case refusal(PairingRefusal)

    /// The kind of message that carries a piece of a transfer.
    static let pieceKind: UInt8 = 7

    private var kind: UInt8 {
        switch self {
        case .commitment: 1
        case .nonce: 2
        case .reveal: 3
        case .acceptance: 4
        case .request: 5
        case .transfer: 6
        case .done: 8
        case .refusal: 9
        }
    }

    /// The message as it is sealed.
    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.number(kind)
        switch self {
        case .commitment(let bytes), .nonce(let bytes), .reveal(let bytes): writer.append(bytes)
        case .acceptance(let acceptance):
            writer.append(acceptance.challenge)
            writer.identifier(acceptance.user)
            writer.text(acceptance.name)
        case .request(let request):
            writer.append(request.signedFields)
            writer.append(request.signature)
        case .transfer(let byteCount, let signature):
            writer.number(byteCount)
            writer.append(signature)
        case .done: break
        case .refusal(let reason): writer.number(reason.rawValue)
        }
        return writer.finish()
    }

    /// Reads a message.
    ///
    /// - Throws: any `FormatError`.
    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        let kind = try cursor.number(UInt8.self, from: bytes)
        switch kind {
        case 1: self = .commitment(try cursor.bytes(32, from: bytes))
        case 2: self = .nonce(try cursor.bytes(32, from: bytes))
        case 3: self = .reveal(try cursor.bytes(32, from: bytes))
        case 4:
            self = .acceptance(
                PairingAcceptance(
                    challenge: try cursor.bytes(32, from: bytes),
                    user: try cursor.identifier(UserID.self, from: bytes),
                    name: try cursor.name(
                        "name of the person", max: TrustLimits.nameByteCountMax, from: bytes)))
        case 5: self = .request(try Self.request(&cursor, from: bytes))
        case 6:
            self = .transfer(
                byteCount: try cursor.number(UInt32.self, from: bytes),
                signature: try cursor.bytes(64, from: bytes))
        case 8: self = .done
        case 9:
            // A newer program may have further reasons.
            self = .refusal(PairingRefusal(rawValue: try cursor.number(UInt8.self, from: bytes)) ?? .failed)
        default: throw .unknown(field: "message", found: UInt32(kind))
        }
        try cursor.expectEnd(of: bytes)
    }

    private static func request(
        _ cursor: inout ByteCursor, from bytes: RawSpan
    ) throws(FormatError) -> PairingRequest {
        let kind = try cursor.number(UInt8.self, from: bytes)
        switch kind {
        case 1:
            let fields = try cursor.range(Int(try cursor.number(UInt16.self, from: bytes)), of: bytes)
            let operation = try DeviceOperation(code: 1, body: bytes.extracting(fields))
            guard case .addDevice(let device, let possession) = operation else {
                throw .invalid(field: "operation")
            }
            return .new(device, possession: possession, signature: try cursor.bytes(64, from: bytes))
        case 2:
            let device = try cursor.identifier(DeviceID.self, from: bytes)
            return .known(device, signature: try cursor.bytes(64, from: bytes))
        default: throw .unknown(field: "request", found: UInt32(kind))
        }
    }
}
