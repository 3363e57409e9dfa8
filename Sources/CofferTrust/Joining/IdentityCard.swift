package import CofferCrypto
internal import CofferFormat

/// The identity chain, transient key, and name of a person, verified.
///
/// The card shows that its parts belong together, not to whom they belong: compare the fingerprint.
package struct IdentityCard: Sendable {
    /// The name that the person uses.
    package let name: String
    /// The person's identity chain.
    package let identity: IdentityChain
    /// The person's transient key.
    package let transient: TransientKey
    /// The card as it is stored.
    package let bytes: [UInt8]

    private static let first = "-----BEGIN COFFER IDENTITY CARD-----"
    private static let last = "-----END COFFER IDENTITY CARD-----"
    private static let lineLength = 64

    /// Verifies a card.
    ///
    /// - Throws: `.format`, `.wrongSignature`, `.wrongPlace`, `.identityRevoked`, and what is wrong with the
    ///   identity chain or the transient key.
    package init(_ bytes: [UInt8]) throws(TrustError) {
        let record = try reading { () throws(FormatError) in try IdentityCardRecord(bytes) }
        guard let first = record.links.first else { throw .wrongPlace }
        let link = try reading { () throws(FormatError) in try LinkRecord(first) }
        var chain = IdentityChain(id: link.chain)
        for link in record.links { try chain.append(link) }
        guard chain.links.count == record.links.count else { throw .format(.invalid(field: "links")) }
        guard let keys = chain.state.current else { throw .identityRevoked }
        transient = try TransientKey(record.transientKey, of: chain)
        try check(record.signature, of: record.signedBytes, by: keys.signing, for: .identityCard)
        name = record.name
        identity = chain
        self.bytes = bytes
    }

    /// Makes a card of one's own.
    ///
    /// - Throws: `.format` if the name is not permitted; whatever verifying the card throws.
    package static func signed(
        name: String, identity: IdentityChain, transient: TransientKey, by signer: borrowing SigningKey
    ) throws(TrustError) -> IdentityCard {
        let signed = try reading { () throws(FormatError) in
            try IdentityCardRecord.signed(
                name: name, links: identity.links.map(\.bytes), transientKey: transient.record.bytes)
        }
        return try IdentityCard(signed + signer.sign(signed, for: .identityCard))
    }

    /// The card as lines of text, to send by mail or store in a file.
    package var text: String {
        let body = Array(Base64.text(bytes, .standard).utf8)
        let lines = stride(from: 0, to: body.count, by: Self.lineLength).map { start in
            String(decoding: body[start..<min(start + Self.lineLength, body.count)], as: UTF8.self)
        }
        return ([Self.first] + lines + [Self.last, ""]).joined(separator: "\n")
    }

    /// Verifies a card in text form; ignores the text around it.
    ///
    /// - Throws: `.notACard`, and whatever `init(_:)` throws.
    package init(text: String) throws(TrustError) {
        let lines = text.utf8.split(separator: UInt8(ascii: "\n")).map { line in
            String(decoding: line.filter { $0 != 0x20 && $0 != 0x0D && $0 != 0x09 }, as: UTF8.self)
        }
        let (first, last) = (Self.first.filter { $0 != " " }, Self.last.filter { $0 != " " })
        guard let start = lines.firstIndex(of: first), let end = lines[start...].firstIndex(of: last),
            let bytes = Base64.bytes(lines[(start + 1)..<end].joined(), .standard)
        else { throw .notACard }
        try self.init(bytes)
    }

    /// The person as a recipient of wraps, for adding them to a vault.
    package var recipient: Recipient {
        get throws(TrustError) { try Recipient(identity, transient) }
    }
}
