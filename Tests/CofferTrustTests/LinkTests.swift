import CofferCrypto
import CofferFormat
import CofferTestSupport
import Testing

@testable import CofferTrust

/// Rules for the links of all three chains.
@Suite struct LinkTests {
    private let alice: Person
    private let chain: IdentityChain

    init() throws {
        alice = try Person(1)
        try alice.roll()
        try alice.roll()
        chain = alice.chain
    }

    private func replayed(_ links: [[UInt8]]) throws -> IdentityChain {
        var chain = IdentityChain(id: ChainID(alice.user))
        try chain.catchUp(with: links)
        return chain
    }

    @Test func aChainIsReplayedFromItsLinks() throws {
        let again = try replayed(chain.links.map(\.bytes))
        #expect(again.links == chain.links)
        #expect(again.head == chain.head)
        #expect(again.state.current == chain.state.current)
    }

    @Test func everyFlippedByteIsRefused() throws {
        for index in chain.links.indices {
            let bytes = chain.links[index].bytes
            for offset in bytes.indices {
                var before = try replayed(chain.links[..<index].map(\.bytes))
                var changed = bytes
                changed[offset] ^= 1 << UInt8(offset % 8)
                #expect(throws: TrustError.self, "link \(index), byte \(offset)") {
                    try before.append(changed)
                }
                #expect(before.links.count == index)
            }
        }
    }

    @Test func truncatedAndExtendedLinksAreRefused() throws {
        let bytes = chain.links[1].bytes
        for count in 0..<bytes.count {
            var before = try replayed([chain.links[0].bytes])
            #expect(throws: TrustError.self) { try before.append(Array(bytes[..<count])) }
        }
        var before = try replayed([chain.links[0].bytes])
        #expect(throws: TrustError.format(.trailingBytes)) { try before.append(bytes + [0]) }
    }

    @Test func aNewerVersionIsToldApart() throws {
        var bytes = chain.links[1].bytes
        bytes[8] = 2
        var before = try replayed([chain.links[0].bytes])
        #expect(throws: TrustError.format(.newerVersion(found: 2, supported: 1))) { try before.append(bytes) }
    }

    @Test func gapsAreRefused() throws {
        var empty = IdentityChain(id: ChainID(alice.user))
        #expect(throws: TrustError.gap(expected: 0, found: 1)) { try empty.append(chain.links[1].bytes) }
        try empty.append(chain.links[0].bytes)
        #expect(throws: TrustError.gap(expected: 1, found: 2)) { try empty.append(chain.links[2].bytes) }
        #expect(throws: TrustError.gap(expected: 1, found: 2)) {
            try replayed([chain.links[0].bytes, chain.links[2].bytes])
        }
    }

    @Test func aKnownLinkChangesNothing() throws {
        var copy = chain
        #expect(try copy.append(chain.links[1].bytes) == .known)
        #expect(copy.head == chain.head)
    }

    @Test func aShorterChainThanKnownIsNoticed() throws {
        var copy = chain
        #expect(throws: TrustError.shorterChain(known: 3, offered: 2)) {
            try copy.catchUp(with: chain.links.dropLast().map(\.bytes))
        }
        let short = try replayed([chain.links[0].bytes])
        #expect(throws: TrustError.shorterChain(known: 3, offered: 1)) {
            try short.expect(chain.links[2].head)
        }
        try chain.expect(short.links[0].head)
        #expect(throws: TrustError.notLinked(sequence: 1)) {
            try chain.expect(LinkHead(sequence: 1, hash: .zero))
        }
    }

    @Test func twoValidLinksAtOnePlaceAreAFork() throws {
        let before = try replayed([chain.links[0].bytes])
        let other = try before.link(.revoke, at: now, by: alice.signing[0].key)
        var copy = chain
        let fork = Fork(known: chain.links[1], other: try LinkRecord(other))
        #expect(throws: TrustError.fork(fork)) { try copy.append(other) }
        #expect(throws: TrustError.fork(fork)) { try copy.catchUp(with: [chain.links[0].bytes, other]) }
        #expect(copy.links == chain.links)
    }

    @Test func anImpossibleLinkIsNoFork() throws {
        let head = chain.links[0].head
        let mallory = try Person(66)
        let forged = try forged(IdentityOperation.revoke, chain: chain.id, after: head, by: mallory.pair.key)
        var copy = chain
        #expect(throws: TrustError.signerNotTrusted) { try copy.append(forged) }
    }

    @Test func aLinkAfterAnUnknownOneIsRefused() throws {
        var copy = try replayed([chain.links[0].bytes])
        let stray = LinkHead(sequence: 0, hash: chain.links[1].hash)
        let forged = try forged(
            IdentityOperation.revoke, chain: chain.id, after: stray, by: alice.signing[0].key)
        #expect(throws: TrustError.notLinked(sequence: 1)) { try copy.append(forged) }
    }

    /// The same fields in another chain, of another kind, or of another user or vault.
    @Test func linksCannotBeMovedBetweenChains() throws {
        var other = IdentityChain(id: ChainID(try Person(2).user))
        #expect(throws: TrustError.otherChain) { try other.append(chain.links[0].bytes) }
        var devices = DeviceChain(id: ChainID(alice.user))
        #expect(throws: TrustError.otherChain) { try devices.append(chain.links[0].bytes) }
        var changed = chain.links[0].bytes
        changed[12] = ChainKind.device.rawValue
        #expect(throws: TrustError.wrongHash) { try devices.append(changed) }
    }

    @Test func aSignatureForAnotherPurposeIsRefused() throws {
        let link = chain.links[1]
        let signature = alice.signing[0].key.sign(link.hash.bytes, for: .transientKey)
        var before = try replayed([chain.links[0].bytes])
        #expect(throws: TrustError.wrongSignature(.link)) {
            try before.append(Array(link.bytes.dropLast(64)) + signature)
        }
    }

    @Test func anUnknownOperationHasItsOwnError() throws {
        var hashed = try LinkRecord.hashed(
            IdentityOperation.revoke, chain: chain.id, sequence: 3, previous: chain.links[2].hash, time: now,
            signer: SigningPublicKey(alice.pair.key.publicKey))
        hashed[77] = 9
        let hash = Blake2b.hash(hashed, for: .link)
        var copy = chain
        #expect(throws: TrustError.format(.unknown(field: "operation", found: 9))) {
            try copy.append(hashed + hash + alice.pair.key.sign(hash, for: .link))
        }
    }

    @Test(arguments: [UInt64(1), 2, 3, 4])
    func randomBytesNeverTrap(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<500 {
            var bytes = chain.links[random.below(3)].bytes
            for _ in 0..<1 + random.below(4) {
                let offset = random.below(bytes.count)
                if random.oneIn(3) {
                    bytes.removeLast(random.below(bytes.count))
                    if bytes.isEmpty { break }
                } else {
                    bytes[offset % bytes.count] = UInt8(random.below(256))
                }
            }
            var copy = chain
            _ = try? copy.append(bytes)
            #expect(copy.links == chain.links, "seed \(seed)")
        }
    }
}
