import CofferFormat
import CofferTestSupport
import Testing

import CofferTrust

/// The fields of operations: each has one encoding, and is untrusted.
@Suite struct OperationTests {
    private static let bounds: LogBounds? = try? LogBounds([bound(1, 2), bound(3, 4)])

    private func operations() throws -> [MemberOperation] {
        let bounds = try #require(Self.bounds)
        let head = LinkHead(sequence: 3, hash: LinkHash([UInt8](repeating: 1, count: 32)))
        let id = IdentityID([UInt8](repeating: 2, count: 32))
        let start = MemberOperation.EpochStart(
            epoch: Epoch(2), commitment: .zero, sealedPrevious: [UInt8](repeating: 3, count: 72),
            wraps: .zero)
        return [
            .createVault(creator: id, head: head, commitment: .zero, wraps: .zero),
            .addMember(id, head: head, role: .admin, invite: InviteID(low: 1, high: 0), wraps: .zero),
            .addMember(id, head: head, role: .reader, invite: nil, wraps: .zero),
            .changeRole(id, role: .writer, bounds: bounds), .removeMember(id, start: start, bounds: bounds),
            .rotateKey(start: start), .memberKeysRolled(id, head: head, bounds: .none),
            .restoreFromBackup(bounds: bounds), .leave(successor: id, bounds: bounds),
            .leave(successor: nil, bounds: .none), .keepHistory(seconds: 0), .keepHistory(seconds: -1),
        ]
    }

    @Test(arguments: [-2, 10_000_000_001, .min, .max]) func timesOutOfRangeAreRefused(seconds: Int64) {
        let body = MemberOperation.keepHistory(seconds: seconds).body
        #expect(throws: FormatError.invalid(field: "seconds")) {
            try MemberOperation(code: 9, body: body.span.bytes)
        }
    }

    @Test func everyOperationReadsAsWritten() throws {
        for operation in try operations() {
            let body = operation.body
            #expect(try MemberOperation(code: operation.code, body: body.span.bytes) == operation)
            for count in 0..<body.count {
                #expect(throws: FormatError.self) {
                    try MemberOperation(code: operation.code, body: Array(body[..<count]).span.bytes)
                }
            }
            #expect(throws: FormatError.trailingBytes) {
                try MemberOperation(code: operation.code, body: (body + [0]).span.bytes)
            }
        }
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func randomChangesNeverTrapAndHaveOneEncoding(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        for operation in try operations() {
            for _ in 0..<300 {
                var body = operation.body
                for _ in 0..<1 + random.below(3) { body[random.below(body.count)] = UInt8(random.below(256)) }
                let code = random.oneIn(4) ? UInt16(random.below(10)) : operation.code
                guard let read = try? MemberOperation(code: code, body: body.span.bytes) else { continue }
                #expect(read.body == body, "seed \(seed)")
                #expect(read.code == code, "seed \(seed)")
            }
        }
    }

    @Test func unknownRolesHaveTheirOwnError() throws {
        var body = try operations()[3].body
        body[32] = 5
        #expect(throws: FormatError.unknown(field: "role", found: 5)) {
            try MemberOperation(code: 3, body: body.span.bytes)
        }
    }

    @Test func boundsAreInOrderAndOnce() throws {
        #expect(throws: FormatError.invalid(field: "order of logs")) {
            try LogBounds([bound(1, 2), bound(1, 3)])
        }
        var body = try operations()[7].body
        let (first, second) = (Array(body[2..<58]), Array(body[58..<114]))
        body.replaceSubrange(2..<114, with: second + first)
        #expect(throws: FormatError.invalid(field: "order of logs")) {
            try MemberOperation(code: 7, body: body.span.bytes)
        }
        #expect(throws: FormatError.invalid(field: "number of logs")) {
            try MemberOperation(code: 7, body: [UInt8](repeating: 255, count: 2).span.bytes)
        }
        let bounds = try #require(Self.bounds)
        #expect(bounds[LogID(low: 3, high: 0)] == bound(3, 4))
        #expect(bounds[LogID(low: 2, high: 0)] == nil)
    }

    @Test func theLongestLinkFits() throws {
        let many = (0..<UInt64(TrustLimits.logCountMax)).map { bound($0, $0) }
        let operation = MemberOperation.restoreFromBackup(bounds: try LogBounds(many))
        let alice = try Person(1)
        let vault = try SharedVault(owner: alice)
        try vault.take(operation, by: alice)
        #expect(throws: FormatError.invalid(field: "number of logs")) {
            try LogBounds(many + [bound(1 << 40, 1)])
        }
    }

    @Test func numbersOf32BytesAreOrderedAsBytes() {
        var random = SplitMix64(seed: 1)
        for _ in 0..<200 {
            let (left, right) = (random.bytes(32), random.bytes(32))
            #expect(
                (LinkHash(left) < LinkHash(right)) == left.lexicographicallyPrecedes(right))
            #expect(LinkHash(left).bytes == left)
            #expect(LinkHash(left).description == hexadecimal(left))
        }
    }
}
