package import CofferCrypto
internal import CofferFormat

extension Invite {
    /// Makes the request that the invited person leaves at the remote: their card, sealed for holders of the
    /// invite.
    ///
    /// - Throws: `.wrongSignature` unless the signer is the card's identity.
    package func request(
        by card: IdentityCard, signing: borrowing SigningKey
    ) throws(TrustError) -> [UInt8] {
        try request(by: card, signing: signing, nonce: .random())
    }

    /// Makes a request with a given nonce, which must never have been used with this invite's key.
    func request(
        by card: IdentityCard, signing: borrowing SigningKey, nonce: Nonce
    ) throws(TrustError) -> [UInt8] {
        guard card.identity.state.current?.signing == signing.publicID else {
            throw .wrongSignature(.joinRequest)
        }
        let head = JoinRequestRecord.associatedData(vault: vault, invite: id)
        let plaintext = signing.sign(head + card.bytes, for: .joinRequest) + card.bytes
        let sealed = unsafe RecordCipher.seal(
            plaintext.span.bytes, key: requestKey, nonce: nonce, associated: head.span.bytes)
        return JoinRequestRecord(vault: vault, invite: id, sealed: sealed).bytes
    }

    /// Opens a join request, which proves that its sender has the invite and this identity.
    ///
    /// - Throws: `.noSuchInvite` if the request names another invite, `.crypto` if it was made without the
    ///   secret, and what is wrong with the card.
    func card(of request: JoinRequestRecord) throws(TrustError) -> IdentityCard {
        guard request.vault == vault, request.invite == id else { throw .noSuchInvite }
        let head = JoinRequestRecord.associatedData(vault: vault, invite: id)
        let plaintext: [UInt8]
        do throws(CryptoError) {
            plaintext = try unsafe RecordCipher.open(
                request.sealed.span.bytes, key: requestKey, associated: head.span.bytes)
        } catch {
            throw .crypto(error)
        }
        guard plaintext.count > SigningKey.signatureByteCount else { throw .format(.truncated) }
        let signature = Array(plaintext.prefix(SigningKey.signatureByteCount))
        let card = try IdentityCard(Array(plaintext.dropFirst(SigningKey.signatureByteCount)))
        guard let keys = card.identity.state.current else { throw .identityRevoked }
        try check(signature, of: head + card.bytes, by: keys.signing, for: .joinRequest)
        return card
    }
}
