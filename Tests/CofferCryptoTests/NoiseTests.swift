import CofferCrypto
import Testing

/// The handshake NX and the channel after it.
@Suite struct NoiseTests {
    private func pair(_ secret: [UInt8]) -> AgreementKey {
        AgreementKey(secretKey: SecretBytes(copying: secret.span.bytes))
    }

    @Test func publishedVectors() throws {
        for vector in try VectorFile.read("noise-nx") {
            let prologue = try vector.bytes("prologue")
            let initiator = NoiseInitiator(
                prologue: prologue, payload: try vector.bytes("payload1"),
                ephemeral: pair(try vector.bytes("initiator-ephemeral")))
            let first = initiator.first
            #expect(first == (try vector.bytes("message1")), vector.place)
            let responder = try NoiseResponder(
                reading: first, prologue: prologue, static: pair(try vector.bytes("responder-static")),
                reply: try vector.bytes("payload2"),
                ephemeral: pair(try vector.bytes("responder-ephemeral")))
            let (second, payload) = (responder.second, responder.payload)
            #expect(second == (try vector.bytes("message2")), vector.place)
            #expect(payload == (try vector.bytes("payload1")), vector.place)
            var one = try initiator.finish(second)
            var other = responder.channel()
            let (hashes, reply) = ([one.hash, other.hash], one.payload)
            #expect(hashes == Array(repeating: try vector.bytes("hash"), count: 2), vector.place)
            #expect(reply == (try vector.bytes("payload2")), vector.place)
            for number in [3, 5] {
                let (there, back) = (
                    try vector.bytes("payload\(number)"), try vector.bytes("payload\(number + 1)")
                )
                let sent = one.seal(there.span.bytes)
                let received = try other.open(sent).array
                let answered = other.seal(back.span.bytes)
                let returned = try one.open(answered).array
                #expect(sent == (try vector.bytes("message\(number)")), vector.place)
                #expect(answered == (try vector.bytes("message\(number + 1)")), vector.place)
                #expect(received == there && returned == back, vector.place)
            }
        }
    }

    private let prologue = Array("test".utf8)

    /// A handshake between a changed first and a changed second message; nil if a side refuses.
    private func hashes(
        first changeFirst: ([UInt8]) -> [UInt8] = { $0 }, second changeSecond: ([UInt8]) -> [UInt8] = { $0 },
        otherPrologue: [UInt8]? = nil
    ) -> (initiator: [UInt8], responder: [UInt8])? {
        let initiator = NoiseInitiator(prologue: prologue)
        let first = initiator.first
        do throws(CryptoError) {
            let responder = try NoiseResponder(
                reading: changeFirst(first), prologue: otherPrologue ?? prologue, static: .random())
            let second = changeSecond(responder.second)
            let one = try initiator.finish(second)
            let other = responder.channel()
            return (one.hash, other.hash)
        } catch {
            return nil
        }
    }

    @Test func handshakesDiffer() throws {
        let (first, second) = (try #require(hashes()), try #require(hashes()))
        #expect(first.initiator == first.responder && second.initiator == second.responder)
        #expect(first.initiator != second.initiator)
    }

    @Test func anyChangeIsRefused() {
        for place in 0..<96 {
            #expect(hashes(second: { $0.flipping(place) }) == nil, "byte \(place)")
        }
        // A changed first message changes the keys.
        for place in 0..<31 { #expect(hashes(first: { $0.flipping(place) }) == nil, "byte \(place)") }
        #expect(hashes(otherPrologue: []) == nil)
        for count in [0, 31, 95] { #expect(hashes(second: { Array($0.prefix(count)) }) == nil) }
        #expect(hashes(first: { Array($0.prefix(31)) }) == nil)
        #expect(hashes(first: { $0 + [UInt8](repeating: 0, count: 65504) }) == nil)
    }

    /// Public keys of low order, with which everybody knows the shared secret.
    @Test func weakKeysAreRefused() {
        let zero = [UInt8](repeating: 0, count: 32)
        let one = [1] + [UInt8](repeating: 0, count: 31)
        for weak in [zero, one] {
            #expect(hashes(first: { _ in weak }) == nil)
            #expect(hashes(second: { weak + $0.dropFirst(32) }) == nil)
        }
    }

    @Test func messagesKeepTheirOrder() throws {
        let initiator = NoiseInitiator(prologue: prologue)
        let responder = try NoiseResponder(reading: initiator.first, prologue: prologue, static: .random())
        let second = responder.second
        var one = try initiator.finish(second)
        var other = responder.channel()
        let text = Array("text".utf8)
        let messages = [one.seal(text.span.bytes), one.seal(text.span.bytes)]
        func isRefused(_ message: [UInt8], by channel: inout NoiseChannel) -> Bool {
            do throws(CryptoError) {
                _ = try channel.open(message)
                return false
            } catch {
                return error == .authenticationFailed
            }
        }
        let later = isRefused(messages[1], by: &other)
        let changed = isRefused(messages[0].flipping(2), by: &other)
        let short = isRefused([1, 2, 3], by: &other)
        let reflected = isRefused(messages[0], by: &one)
        let opened = try other.open(messages[0]).array
        let again = isRefused(messages[0], by: &other)
        #expect(later && changed && short && reflected && again)
        #expect(opened == text && messages[0] != messages[1])
    }
}

extension [UInt8] {
    /// The same bytes with one bit changed.
    fileprivate func flipping(_ place: Int) -> [UInt8] {
        var changed = self
        changed[place] ^= 1
        return changed
    }
}
