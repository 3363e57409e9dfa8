import CofferCrypto
import CofferFormat
import CofferTrust

// Records of trust: writers to the remote choose them, and so do authors of pasted invites and cards.
extension Decoder {
    /// Keys that are the same in each run.
    private static func signer(_ byte: UInt8) -> SigningKey {
        let seed = [UInt8](repeating: byte, count: 32)
        return SigningKey(seed: SecretBytes(copying: seed.span.bytes))
    }

    private static func identity(_ byte: UInt8) throws -> IdentityChain {
        let secret = [UInt8](repeating: byte, count: 32)
        let agreement = AgreementKey(secretKey: SecretBytes(copying: secret.span.bytes)).publicKey
        return try IdentityChain.founded(
            UserID(low: UInt64(byte), high: 0), signing: signer(byte),
            agreement: AgreementPublicKey(agreement), at: 1)
    }

    /// Links of all chains, and the fields of their operations.
    static let links = Decoder(name: "links", byteCountMax: 1024) {
        let chain = try identity(1)
        let head = LinkHead(sequence: 0, hash: .zero)
        let bound = LogBound(log: LogID(low: 1, high: 2), sequence: 3, hash: .zero)
        let bounds = try LogBounds([bound])
        let start = MemberOperation.EpochStart(
            epoch: Epoch(2), commitment: .zero, sealedPrevious: [UInt8](repeating: 0, count: 72), wraps: .zero
        )
        let operations: [MemberOperation] = [
            .createVault(creator: .zero, head: head, commitment: .zero, wraps: .zero),
            .addMember(.zero, head: head, role: .writer, invite: nil, wraps: .zero),
            .changeRole(.zero, role: .reader, bounds: bounds),
            .removeMember(.zero, start: start, bounds: bounds), .rotateKey(start: start),
            .memberKeysRolled(.zero, head: head, bounds: bounds), .restoreFromBackup(bounds: bounds),
            .leave(successor: .zero, bounds: bounds), .keepHistory(seconds: 1),
        ]
        let device = try DeviceOperation.adding(
            DeviceID(low: 1, high: 1), signing: signer(2), agreement: .zero, name: "ä", model: "b",
            to: UserID(low: 1, high: 0))
        func link(_ operation: some ChainOperation) throws -> [UInt8] {
            try LinkRecord.hashed(
                operation, chain: chain.id, sequence: 0, previous: .zero, time: 0, signer: .zero)
                + [UInt8](repeating: 0, count: 96)
        }
        return try chain.links.map(\.bytes) + operations.map(link) + [link(device)]
    } run: { bytes in
        guard let link = try? LinkRecord(bytes) else { return .refused }
        try expect(link.bytes == bytes && link.hashedBytes.count == bytes.count - 96, "a link changes")
        let body = link.body.span.bytes
        let encoded: [UInt8]?
        switch link.kind {
        case .device: encoded = try? DeviceOperation(code: link.code, body: body).body
        case .identity: encoded = try? IdentityOperation(code: link.code, body: body).body
        case .member: encoded = try? MemberOperation(code: link.code, body: body).body
        }
        guard let encoded else { return .refused }
        try expect(encoded == link.body, "an operation has two encodings")
        var chain = IdentityChain(id: link.chain)
        _ = try? chain.append(bytes)
        return .taken
    }

    /// Wrap sets, transient keys, identity cards, join requests, and other bytes in their place.
    static let trustRecords = Decoder(name: "trust-records", byteCountMax: 1024) {
        let chain = try identity(1)
        let transient = try TransientKey.signed(
            try identity(2).state.current?.agreement ?? .zero, id: TransientKeyID(low: 1, high: 1), from: 1,
            of: chain, by: signer(1))
        let card = try IdentityCard.signed(
            name: "Alice", identity: chain, transient: transient, by: signer(1))
        let wrap = WrapSetRecord.Wrap(identity: .zero, suite: 2, sealed: [1, 2, 3])
        let set = WrapSetRecord.signed(
            vault: VaultID(low: 1, high: 2), epoch: .first, wraps: [wrap], signer: .zero)
        let request = JoinRequestRecord(
            vault: VaultID(low: 1, high: 2), invite: InviteID(low: 3, high: 4), sealed: [5])
        let refusal = JoinRefusalRecord(
            vault: VaultID(low: 1, high: 2), invite: InviteID(low: 3, high: 4),
            sealed: [UInt8](repeating: 5, count: 41))
        return [
            transient.record.bytes, card.bytes, set + [UInt8](repeating: 0, count: 64), request.bytes,
            refusal.bytes,
        ]
    } run: { bytes in
        if let key = try? TransientKeyRecord(bytes) {
            try expect(key.signedBytes.count == 140 && key.from < key.until, "a transient key is odd")
            return .taken
        }
        if let set = try? WrapSetRecord(bytes) {
            let signed = WrapSetRecord.signed(
                vault: set.vault, epoch: set.epoch, wraps: set.wraps, signer: set.signer)
            try expect(signed == set.signedBytes, "a wrap set has two encodings")
            _ = try? WrapSet(bytes)
            return .taken
        }
        if let card = try? IdentityCardRecord(bytes) {
            let signed = try IdentityCardRecord.signed(
                name: card.name, links: card.links, transientKey: card.transientKey)
            try expect(signed == card.signedBytes, "a card has two encodings")
            _ = try? IdentityCard(bytes)
            return .taken
        }
        if let refusal = try? JoinRefusalRecord(bytes) {
            try expect(refusal.bytes == bytes, "a refusal has two encodings")
            return .taken
        }
        guard let request = try? JoinRequestRecord(bytes) else { return .refused }
        try expect(request.bytes == bytes, "a join request has two encodings")
        return .taken
    }

    /// Text that people paste: invites and cards.
    static let pasted = Decoder(name: "pasted", byteCountMax: 2048) {
        let invite = try Invite(
            to: VaultID(low: 1, high: 2), root: .zero, role: .writer, expires: 1, url: "file:///srv/x",
            name: "Taxes")
        let chain = try identity(1)
        let transient = try TransientKey.signed(
            try identity(2).state.current?.agreement ?? .zero, id: TransientKeyID(low: 1, high: 1), from: 1,
            of: chain, by: signer(1))
        let card = try IdentityCard.signed(
            name: "Alice", identity: chain, transient: transient, by: signer(1))
        return [Array(invite.text.utf8), Array(card.text.utf8)]
    } run: { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        if let invite = try? Invite(text: text) {
            try expect(try Invite(text: invite.text).id == invite.id, "an invite changes when it is sent on")
            try expect(Invite.isFit(invite.url), "an invite has a URL that none may have")
            return .taken
        }
        guard let card = try? IdentityCard(text: text) else { return .refused }
        try expect(try IdentityCard(text: card.text).bytes == card.bytes, "a card changes when it is sent on")
        return .taken
    }
}
