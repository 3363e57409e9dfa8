/// What a link of a device chain does.
///
///     operation  fields
///             1  AddDevice: device id (16), Ed25519 key (32), X25519 key (32), name (text), model (text),
///                signature of these by the new device (64)
///             2  RevokeDevice: device id (16)
package enum DeviceOperation: ChainOperation {
    /// A device is trusted from now on.
    case addDevice(Device, possession: [UInt8])
    /// A device is no longer trusted, and can never be added again.
    case revokeDevice(DeviceID)

    /// A device of a person.
    package struct Device: Equatable, Sendable {
        /// The id of the device.
        package let id: DeviceID
        /// The key that the device signs with.
        package let signing: SigningPublicKey
        /// The key with which others seal data for the device.
        package let agreement: AgreementPublicKey
        /// The name that its owner gave it: 1 to 255 bytes.
        package let name: String
        /// The kind of machine: 1 to 255 bytes.
        package let model: String

        package init(
            id: DeviceID, signing: SigningPublicKey, agreement: AgreementPublicKey, name: String,
            model: String
        ) {
            self.id = id
            self.signing = signing
            self.agreement = agreement
            self.name = name
            self.model = model
        }

        func write(into writer: inout ByteWriter) {
            writer.identifier(id)
            writer.bytes32(signing)
            writer.bytes32(agreement)
            writer.text(name)
            writer.text(model)
        }

        /// The message that the device signs to prove that it has the keys: chain id, then the device's
        /// fields.
        package func possessed(in chain: ChainID) -> [UInt8] {
            var writer = ByteWriter()
            writer.identifier(chain)
            write(into: &writer)
            return writer.finish()
        }
    }

    package static var kind: ChainKind { .device }

    package var code: UInt16 {
        switch self {
        case .addDevice: 1
        case .revokeDevice: 2
        }
    }

    package var body: [UInt8] {
        var writer = ByteWriter()
        switch self {
        case .addDevice(let device, let possession):
            device.write(into: &writer)
            writer.append(possession)
        case .revokeDevice(let device): writer.identifier(device)
        }
        return writer.finish()
    }

    /// Reads the fields of an operation, as `ChainOperation` requires.
    package init(code: UInt16, body: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        switch code {
        case 1:
            let max = TrustLimits.nameByteCountMax
            let device = Device(
                id: try cursor.identifier(DeviceID.self, from: body),
                signing: try cursor.bytes32(SigningPublicKey.self, from: body),
                agreement: try cursor.bytes32(AgreementPublicKey.self, from: body),
                name: try cursor.name("name of the device", max: max, from: body),
                model: try cursor.name("model of the device", max: max, from: body))
            self = .addDevice(device, possession: try cursor.bytes(64, from: body))
        case 2: self = .revokeDevice(try cursor.identifier(DeviceID.self, from: body))
        default: throw .unknown(field: "operation", found: UInt32(code))
        }
        try cursor.expectEnd(of: body)
    }
}
