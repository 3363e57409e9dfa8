package import CofferCrypto
package import CofferFormat

/// Wraps of one epoch's key, with a verified signature.
package struct WrapSet: Equatable, Sendable {
    /// The set as it is stored.
    package let record: WrapSetRecord
    /// The hash by which a link of the member chain names the set.
    package let hash: WrapSetHash

    /// Verifies that the signer that the set names made it.
    ///
    /// `WrapAudit` checks whether that signer had the right, and whether a link names the set.
    ///
    /// - Throws: `.format`, `.wrongSignature`.
    package init(_ bytes: [UInt8]) throws(TrustError) {
        record = try reading { () throws(FormatError) in try WrapSetRecord(bytes) }
        hash = WrapSetHash(Blake2b.hash(bytes, for: .wrapSet))
        try check(record.signature, of: record.signedBytes, by: record.signer, for: .wrapSet)
    }

    /// Seals the key of an epoch for each recipient, and signs the set.
    ///
    /// - Throws: `.wrongRecipients` if there is no recipient, if there are too many, or if one occurs twice.
    package static func sealing(
        _ key: EpochKey, for recipients: [Recipient], by signer: borrowing SigningKey
    ) throws(TrustError) -> WrapSet {
        let identities = Set(recipients.map(\.identity))
        guard identities.count == recipients.count, !recipients.isEmpty,
            recipients.count <= TrustLimits.memberCountMax
        else { throw .wrongRecipients }
        var wraps: [WrapSetRecord.Wrap] = []
        for recipient in recipients { wraps.append(try KeyWrap.seal(key, for: recipient)) }
        return try signing(wraps, vault: key.vault, epoch: key.epoch, by: signer)
    }

    static func signing(
        _ wraps: [WrapSetRecord.Wrap], vault: VaultID, epoch: Epoch, by signer: borrowing SigningKey
    ) throws(TrustError) -> WrapSet {
        let signed = WrapSetRecord.signed(vault: vault, epoch: epoch, wraps: wraps, signer: signer.publicID)
        return try WrapSet(signed + signer.sign(signed, for: .wrapSet))
    }

    /// The wrap for an identity; nil if there is none.
    package subscript(identity: IdentityID) -> WrapSetRecord.Wrap? {
        record.wraps.first { $0.identity == identity }
    }

    /// Opens the key that the set contains for an identity.
    ///
    /// - Throws: `.noWrap`, and whatever `KeyWrap.open` throws.
    package func open(
        for identity: IdentityID, agreement: borrowing AgreementKey, transient: borrowing AgreementKey
    ) throws(TrustError) -> EpochKey {
        guard let wrap = self[identity] else { throw .noWrap }
        return try KeyWrap.open(
            wrap, vault: record.vault, epoch: record.epoch, agreement: agreement, transient: transient)
    }
}
