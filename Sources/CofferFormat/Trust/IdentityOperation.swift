/// The public keys of a person.
package struct IdentityPublicKeys: Hashable, Sendable {
    /// The key that the person signs with.
    package let signing: SigningPublicKey
    /// The key that others seal data for the person with, together with a transient key.
    package let agreement: AgreementPublicKey

    package init(signing: SigningPublicKey, agreement: AgreementPublicKey) {
        self.signing = signing
        self.agreement = agreement
    }
}

/// What a link of an identity chain does.
///
///     operation  fields
///             1  InitialKeys: Ed25519 key (32), X25519 key (32)
///             2  RollKeys: Ed25519 key (32), X25519 key (32), signature by the new key (64)
///             3  Revoke: none
package enum IdentityOperation: ChainOperation {
    /// The first keys.
    case initialKeys(IdentityPublicKeys)
    /// Keys that replace the current ones.
    case rollKeys(IdentityPublicKeys, possession: [UInt8])
    /// No key is valid from now on.
    case revoke

    package static var kind: ChainKind { .identity }

    package var code: UInt16 {
        switch self {
        case .initialKeys: 1
        case .rollKeys: 2
        case .revoke: 3
        }
    }

    package var body: [UInt8] {
        var writer = ByteWriter()
        switch self {
        case .initialKeys(let keys):
            writer.bytes32(keys.signing)
            writer.bytes32(keys.agreement)
        case .rollKeys(let keys, let possession):
            writer.bytes32(keys.signing)
            writer.bytes32(keys.agreement)
            writer.append(possession)
        case .revoke: break
        }
        return writer.finish()
    }

    /// Reads the fields of an operation, as `ChainOperation` requires.
    package init(code: UInt16, body: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        switch code {
        case 1: self = .initialKeys(try Self.keys(&cursor, from: body))
        case 2:
            let keys = try Self.keys(&cursor, from: body)
            self = .rollKeys(keys, possession: try cursor.bytes(64, from: body))
        case 3: self = .revoke
        default: throw .unknown(field: "operation", found: UInt32(code))
        }
        try cursor.expectEnd(of: body)
    }

    private static func keys(
        _ cursor: inout ByteCursor, from body: RawSpan
    ) throws(FormatError) -> IdentityPublicKeys {
        IdentityPublicKeys(
            signing: try cursor.bytes32(SigningPublicKey.self, from: body),
            agreement: try cursor.bytes32(AgreementPublicKey.self, from: body))
    }

    /// The message that the new key signs to prove that it belongs at this place: chain id, previous head,
    /// the keys.
    package static func possessed(
        _ keys: IdentityPublicKeys, in chain: ChainID, after head: LinkHead
    ) -> [UInt8] {
        var writer = ByteWriter()
        writer.identifier(chain)
        writer.number(head.sequence)
        writer.bytes32(head.hash)
        writer.bytes32(keys.signing)
        writer.bytes32(keys.agreement)
        return writer.finish()
    }
}
