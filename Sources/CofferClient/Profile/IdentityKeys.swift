internal import CofferCrypto
internal import CofferFormat

/// A person's name, Ed25519 seed, and X25519 secret key.
final class IdentityKeys: Sendable {
    let name: String
    let signing: SigningKey
    let agreement: AgreementKey

    init(name: String) {
        self.name = name
        signing = .random()
        agreement = .random()
    }

    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        name = try cursor.text("name", from: bytes)
        signing = SigningKey(seed: try cursor.secret(SigningKey.seedByteCount, from: bytes))
        agreement = AgreementKey(secretKey: try cursor.secret(AgreementKey.byteCount, from: bytes))
        try cursor.expectEnd(of: bytes)
    }

    func write(into writer: inout ByteWriter) {
        writer.text(name)
        signing.seed.withBytes { writer.append($0) }
        agreement.secretKey.withBytes { writer.append($0) }
    }
}
