internal import CofferCrypto
internal import CofferFormat

/// The reason why an invite admits nobody, as its maker's device tells a person who asks with it.
package enum JoinRefusal: UInt8, Sendable {
    /// The invite was withdrawn.
    case withdrawn = 1
    /// The maker of the invite may not admit anybody, or not in that role.
    case noRight = 2
}

extension Invite {
    /// Makes a refusal; only a holder of the invite can make one, or read its reason.
    package func refusal(_ reason: JoinRefusal) -> [UInt8] {
        let head = JoinRefusalRecord.associatedData(vault: vault, invite: id)
        let sealed = unsafe RecordCipher.seal(
            [reason.rawValue].span.bytes, key: refusalKey, associated: head.span.bytes)
        return JoinRefusalRecord(vault: vault, invite: id, sealed: sealed).bytes
    }

    /// Opens a refusal that replaced a request.
    ///
    /// - Returns: The reason; nil unless the bytes are a refusal that a holder of this invite made.
    package func refusal(in bytes: [UInt8]) -> JoinRefusal? {
        guard let record = try? JoinRefusalRecord(bytes), record.vault == vault, record.invite == id else {
            return nil
        }
        let head = JoinRefusalRecord.associatedData(vault: vault, invite: id)
        let opened = try? unsafe RecordCipher.open(
            record.sealed.span.bytes, key: refusalKey, associated: head.span.bytes)
        return opened?.first.flatMap { JoinRefusal(rawValue: $0) }
    }

    /// The key that seals refusals.
    private var refusalKey: SymmetricKey<JoinRefusalRole> {
        let context = vault.bytes + id.bytes
        return unsafe secret.derive(JoinRefusalRole.self, context: context.span.bytes)
    }
}
