import CofferCrypto
import CofferFormat
import CofferTestSupport
import Testing

@testable import CofferTrust

/// The messages of a pairing, with and without somebody in the middle.
@Suite struct PairingTests {
    private let user = UserID(low: 5, high: 6)
    private let person: Person
    private let device = DeviceID(low: 7, high: 8)

    init() throws {
        person = try Person(1)
    }

    private var operation: DeviceOperation {
        get throws {
            try DeviceOperation.adding(
                device, signing: person.pair.key, agreement: person.agreement[0].publicKey, name: "desktop",
                model: "Linux", to: user)
        }
    }

    /// Two sides that have the code.
    private struct Sides: ~Copyable {
        var authorizing: AuthorizingSide
        var joining: JoiningSide
        let codes: [PairingCode]

        init() throws(PairingError) {
            let hello = JoiningSide.Hello()
            var authorizing = try AuthorizingSide(reading: hello.message)
            let beginning = authorizing.beginning
            var joining = try JoiningSide(hello, answer: beginning[0])
            let number = try joining.number(after: beginning[1])
            let revealed = try authorizing.reveal(after: number)
            let code = try joining.code(after: revealed.reveal)
            codes = [revealed.code, code]
            self.authorizing = authorizing
            self.joining = joining
        }
    }

    private func failure(_ body: () throws(PairingError) -> Void) -> PairingError? {
        do throws(PairingError) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    private func secret(_ bytes: [UInt8]) -> SecretBytes { SecretBytes(copying: bytes.span.bytes) }

    @Test func bothSidesHaveTheSameCode() throws {
        let first = try Sides()
        let second = try Sides()
        let (codes, others) = (first.codes, second.codes)
        #expect(codes[0] == codes[1] && codes[0] != others[0])
        #expect(codes[0].digits.utf8.count == 8 && codes[0].digits.allSatisfy(\.isNumber))
        #expect("\(codes[0])".utf8.count == 9 && codes[0].isSame(as: "\(codes[0])"))
        #expect(codes[0].isSame(as: codes[0].digits) && !codes[0].isSame(as: "") && !codes[0].isSame(as: "1"))
    }

    /// The values of docs/trust.md, "Test values".
    @Test func documentedValues() {
        func bytes(_ first: UInt8) -> [UInt8] { (0..<32).map { first + $0 } }
        let committed = Blake2b.hash(bytes(0) + bytes(0x20), for: .pairingCommitment)
        #expect(
            Bytes32<CommitHashKind>(committed).description
                == "b8b5c63372c2a1ba93670b39f14dac20868291e1c7583701fb510145e93a0870")
        #expect(PairingCode(bytes(0), bytes(0x20), bytes(0x40)).digits == "99390992")
    }

    @Test func aNewDeviceReceivesATransferOfSeveralPieces() throws {
        var sides = try Sides()
        let accepted = sides.authorizing.accept(user, "Ann")
        let acceptance = try sides.joining.acceptance(accepted)
        #expect(acceptance.user == user && acceptance.name == "Ann" && acceptance.challenge.count == 32)
        let asked = try sides.joining.ask(try operation, acceptance, signing: person.pair.key)
        let request = try sides.authorizing.request(asked)
        guard case .new(let asking, let possession, _) = request else {
            Issue.record("another request")
            return
        }
        #expect(DeviceOperation.addDevice(asking, possession: possession) == (try operation))
        let giver = try Person(2)
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let messages = try sides.authorizing.transfer(secret(bytes), signing: giver.pair.key)
        #expect(messages.count == 5)
        try sides.joining.begin(transfer: messages[0])
        for message in messages[1..<4] {
            let isWhole = try sides.joining.add(piece: message) != nil
            #expect(!isWhole)
        }
        let last = try sides.joining.add(piece: messages[4])
        let isSame = last?.isEqual(to: secret(bytes)) ?? false
        #expect(isSame)
        let known = try #require(
            { () -> DeviceOperation.Device? in
                DeviceOperation.Device(
                    id: device, signing: SigningPublicKey(giver.pair.key.publicKey),
                    agreement: giver.agreement[0].publicKey, name: "laptop", model: "Linux")
            }())
        let good = failure { () throws(PairingError) in
            try sides.joining.check(secret(bytes), by: [asking, known])
        }
        let stranger = failure { () throws(PairingError) in
            try sides.joining.check(secret(bytes), by: [asking])
        }
        let changed = failure { () throws(PairingError) in
            try sides.joining.check(secret(bytes + [0]), by: [known])
        }
        #expect(good == nil && stranger == .wrongSignature && changed == .wrongSignature)
        try sides.authorizing.finish(sides.joining.done())
    }

    @Test func aKnownDeviceProvesItsKey() throws {
        var sides = try Sides()
        let acceptance = try sides.joining.acceptance(sides.authorizing.accept(user, "Ann"))
        let asked = sides.joining.ask(device, acceptance, signing: person.pair.key)
        let request = try sides.authorizing.request(asked)
        let other = try Person(2)
        let good = failure { () throws(PairingError) in
            try sides.authorizing.check(request, by: SigningPublicKey(person.pair.key.publicKey))
        }
        let bad = failure { () throws(PairingError) in
            try sides.authorizing.check(request, by: SigningPublicKey(other.pair.key.publicKey))
        }
        #expect(good == nil && bad == .wrongSignature)
    }

    @Test func aNewDeviceMustHaveTheKeyThatItNames() throws {
        var sides = try Sides()
        let acceptance = try sides.joining.acceptance(sides.authorizing.accept(user, "Ann"))
        let other = try Person(2)
        let asked = try sides.joining.ask(try operation, acceptance, signing: other.pair.key)
        let error = failure { () throws(PairingError) in _ = try sides.authorizing.request(asked) }
        #expect(error == .wrongSignature)
    }

    /// A signature of another pairing, with another challenge, counts for nothing.
    @Test func signaturesBelongToOnePairing() throws {
        var first = try Sides()
        var second = try Sides()
        let one = try first.joining.acceptance(first.authorizing.accept(user, "Ann"))
        _ = try second.joining.acceptance(second.authorizing.accept(user, "Ann"))
        // The challenge of the first pairing, signed in the second.
        let asked = try second.joining.ask(try operation, one, signing: person.pair.key)
        let error = failure { () throws(PairingError) in _ = try second.authorizing.request(asked) }
        #expect(error == .wrongSignature)
    }

    @Test func refusalsArrive() throws {
        for reason in PairingRefusal.allCases {
            var sides = try Sides()
            let message = sides.authorizing.refuse(reason)
            let one = failure { () throws(PairingError) in _ = try sides.joining.acceptance(message) }
            #expect(one == .refused(reason))
            let back = sides.joining.refuse(reason)
            let other = failure { () throws(PairingError) in _ = try sides.authorizing.request(back) }
            #expect(other == .refused(reason))
        }
    }

    // MARK: Attacks

    /// Somebody who shakes hands with both sides is a third party to each: the codes differ.
    @Test func somebodyInTheMiddleHasTwoCodes() throws {
        for _ in 0..<20 {
            let left = try Sides()
            let right = try Sides()
            let (one, other) = (left.codes[0], right.codes[0])
            #expect(one != other)
        }
    }

    /// Without the commitment, somebody in the middle would try numbers until the codes are the same.
    @Test func aNumberCannotBeChosenAfterTheOtherIsKnown() throws {
        let hello = JoiningSide.Hello()
        let initiator = NoiseResponderForTests(reading: hello.message)
        var middle = initiator.channel
        var joining = try JoiningSide(hello, answer: initiator.answer)
        let committed = Blake2b.hash(middle.hash + [UInt8](repeating: 1, count: 32), for: .pairingCommitment)
        _ = try joining.number(after: middle.seal(.commitment(committed)))
        let chosen = middle.seal(.reveal([UInt8](repeating: 2, count: 32)))
        let error = failure { () throws(PairingError) in _ = try joining.code(after: chosen) }
        #expect(error == .wrongCommitment)
    }

    /// The commitment of one handshake is none in another.
    @Test func commitmentsBelongToOneHandshake() throws {
        let hello = JoiningSide.Hello()
        let initiator = NoiseResponderForTests(reading: hello.message)
        var middle = initiator.channel
        var joining = try JoiningSide(hello, answer: initiator.answer)
        let number = [UInt8](repeating: 1, count: 32)
        let other = try Sides()
        let hash = other.authorizing.channel.hash
        let committed = Blake2b.hash(hash + number, for: .pairingCommitment)
        _ = try joining.number(after: middle.seal(.commitment(committed)))
        let reveal = middle.seal(.reveal(number))
        let error = failure { () throws(PairingError) in _ = try joining.code(after: reveal) }
        #expect(error == .wrongCommitment)
    }

    @Test func messagesOutOfTurnAreRefused() throws {
        var sides = try Sides()
        let done = sides.joining.done()
        let early = failure { () throws(PairingError) in _ = try sides.authorizing.request(done) }
        #expect(early == .outOfTurn)
        let accepted = sides.authorizing.accept(user, "Ann")
        let wrong = failure { () throws(PairingError) in try sides.joining.begin(transfer: accepted) }
        #expect(wrong == .outOfTurn)
    }

    @Test func anyChangedByteIsRefused() throws {
        for place in stride(from: 0, to: 80, by: 7) {
            var sides = try Sides()
            var message = sides.authorizing.accept(user, "Ann")
            message[place % message.count] ^= 1
            let error = failure { () throws(PairingError) in _ = try sides.joining.acceptance(message) }
            #expect(error == .altered(.authenticationFailed))
        }
        let strange = failure { () throws(PairingError) in
            _ = try AuthorizingSide(reading: Array("GET / HTTP/1.1\r\n\r\n".utf8))
        }
        #expect(strange == .altered(.authenticationFailed))
    }

    @Test func aTransferHasTheAnnouncedLength() throws {
        var sides = try Sides()
        let messages = try sides.authorizing.transfer(
            secret([UInt8](repeating: 1, count: 100)), signing: person.pair.key)
        let more = try sides.authorizing.transfer(
            secret([UInt8](repeating: 1, count: 200)), signing: person.pair.key)
        try sides.joining.begin(transfer: messages[0])
        _ = try sides.joining.add(piece: messages[1])
        let error = failure { () throws(PairingError) in try sides.joining.begin(transfer: more[0]) }
        let tooMuch = failure { () throws(PairingError) in
            _ = try sides.joining.add(piece: more[1])
            _ = try sides.joining.add(piece: more[1])
        }
        #expect(error == nil && tooMuch == .altered(.authenticationFailed))
        let nothing = failure { () throws(PairingError) in
            _ = try sides.authorizing.transfer(secret([]), signing: person.pair.key)
        }
        #expect(nothing == .tooLarge)
    }
}

/// What somebody in the middle uses towards a device that joins: the handshake, without the protocol after it.
private struct NoiseResponderForTests: ~Copyable {
    let answer: [UInt8]
    let channel: PairingChannel

    init(reading first: [UInt8]) {
        guard
            let responder = try? NoiseResponder(
                reading: first, prologue: PairingChannel.prologue, static: .random())
        else { preconditionFailure("not a handshake") }
        answer = responder.second
        channel = PairingChannel(responder.channel())
    }
}
