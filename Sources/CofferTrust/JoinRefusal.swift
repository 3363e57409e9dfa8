internal import CofferCrypto
internal import CofferFormat

/// Why nobody is admitted by an invite, as its maker's device tells who asks with it.
package enum JoinRefusal: UInt8, Sendable {
    /// It was withdrawn.
    case withdrawn = 1
    /// Who made it may not admit anybody, or not in that role.
    case noRight = 2
}

extension Invite {
    /// Tells who has the invite that nobody is admitted by it; nobody else learns why, or can say so.
    package func refusal(_ reason: JoinRefusal) -> [UInt8] {
        let head = JoinRefusalRecord.associatedData(vault: vault, invite: id)
        let sealed = unsafe RecordCipher.seal(
            [reason.rawValue].span.bytes, key: refusalKey, associated: head.span.bytes)
        return JoinRefusalRecord(vault: vault, invite: id, sealed: sealed).bytes
    }

    /// Opens what lies in the place of a request.
    ///
    /// - Returns: Nil unless it tells, by somebody who has this invite, that nobody is admitted by it.
    package func refusal(in bytes: [UInt8]) -> JoinRefusal? {
        guard let record = try? JoinRefusalRecord(bytes), record.vault == vault, record.invite == id else {
            return nil
        }
        let head = JoinRefusalRecord.associatedData(vault: vault, invite: id)
        let opened = try? unsafe RecordCipher.open(
            record.sealed.span.bytes, key: refusalKey, associated: head.span.bytes)
        return opened?.first.flatMap { JoinRefusal(rawValue: $0) }
    }

    /// The key that seals what those are told who ask with the invite.
    private var refusalKey: SymmetricKey<JoinRefusalRole> {
        let context = vault.bytes + id.bytes
        return unsafe secret.derive(JoinRefusalRole.self, context: context.span.bytes)
    }
}
