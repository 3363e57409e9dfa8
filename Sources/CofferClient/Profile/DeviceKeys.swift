internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem

/// This device's id, label, Ed25519 seed, and X25519 secret key.
final class DeviceKeys: Sendable {
    let id: DeviceID
    let label: String
    let signing: SigningKey
    let agreement: AgreementKey

    init(label: String) {
        id = DeviceID(low: Random.number(), high: Random.number())
        self.label = label
        signing = .random()
        agreement = .random()
    }

    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        id = try cursor.identifier(DeviceID.self, from: bytes)
        label = try cursor.text("label", from: bytes)
        signing = SigningKey(seed: try cursor.secret(SigningKey.seedByteCount, from: bytes))
        agreement = AgreementKey(secretKey: try cursor.secret(AgreementKey.byteCount, from: bytes))
        try cursor.expectEnd(of: bytes)
    }

    func write(into writer: inout ByteWriter) {
        writer.identifier(id)
        writer.text(label)
        signing.seed.withBytes { writer.append($0) }
        agreement.secretKey.withBytes { writer.append($0) }
    }
}
