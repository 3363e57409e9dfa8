/// What a link of a device chain does.
///
///     operation  fields
///             1  AddDevice: device id (16), Ed25519 key (32), X25519 key (32), name (text), model (text),
///                signature of these by the new device (64)
///             2  RevokeDevice: device id (16)
package enum DeviceOperation: ChainOperation {
    /// A device is trusted from now on.
    case addDevice(Device, possession: [UInt8])
    /// A device is trusted no more, and never again.
    case revokeDevice(DeviceID)

    /// A machine of a person.
    package struct Device: Equatable, Sendable {
        /// Names the device.
        package let id: DeviceID
        /// What it signs with.
        package let signing: SigningPublicKey
        /// What others seal for it with.
        package let agreement: AgreementPublicKey
        /// What its owner calls it: 1 to 255 bytes.
        package let name: String
        /// What kind of machine it is: 1 to 255 bytes.
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

        /// What the device signs to show that the keys are its own: chain id, then its fields.
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

    /// Reads the fields of an operation; as `ChainOperation` says.
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
