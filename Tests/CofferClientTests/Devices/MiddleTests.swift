import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTrust
import Foundation
import Testing

@testable import CofferClient

/// Somebody between two devices that are being paired.
@Suite(.serialized, .ownThread) struct MiddleTests {
    private let world: DeviceWorld

    init() throws { world = try DeviceWorld() }

    private static var always: PairingConnection.Wait {
        PairingConnection.Wait(nanoseconds: PairingConnection.Wait.program) { true }
    }

    /// Shakes hands with both devices, and passes itself off as the other one to each.
    ///
    /// - Returns: Why the authorizing device ended the pairing.
    private static func stand(
        between listener: PairingListener, and target: PairingAddress, claiming user: UserID
    ) throws(ClientError) -> PairingError? {
        let one = try listener.accept(always)
        let first = try one.receive(always)
        var towardsNew = try pairing { () throws(PairingError) in try AuthorizingSide(reading: first) }
        try one.send(towardsNew.beginning, always)
        let number = try one.receive(always)
        let revealed = try pairing { () throws(PairingError) in try towardsNew.reveal(after: number) }
        try one.send(revealed.reveal, always)

        let other = try target.connect()
        let hello = JoiningSide.Hello()
        let message = hello.message
        try other.send(message, always)
        let answer = try other.receive(always)
        var towardsOld: JoiningSide
        do throws(PairingError) { towardsOld = try JoiningSide(hello, answer: answer) } catch {
            throw .device(.pairing(error))
        }
        let commitment = try other.receive(always)
        let own = try pairing { () throws(PairingError) in try towardsOld.number(after: commitment) }
        try other.send(own, always)
        let reveal = try other.receive(always)
        _ = try pairing { () throws(PairingError) in try towardsOld.code(after: reveal) }
        // The new device is told that the codes are the same.
        try one.send(towardsNew.accept(user, "Alice"), always)
        let last = try other.receive(always)
        do throws(PairingError) {
            _ = try towardsOld.acceptance(last)
            return nil
        } catch {
            return error
        }
    }

    @Test func somebodyInTheMiddleGetsNothing() throws {
        let laptop = try OpenProfile()
        let (address, decoy, location) = (world.address(), world.address(), world.location())
        let listener = try PairingListener(at: try PairingAddress(decoy))
        let target = try PairingAddress(address)
        let paper = Condition<String?>(nil)
        let outcome = Condition<PairingError?>(nil)
        // The person enters what the new device shows.
        let wait = world.authorize(laptop, at: address) { paper.wait { $0 } }
        Thread.detachNewThread {
            let error = try? Self.stand(
                between: listener, and: target, claiming: UserID(low: 1, high: 2))
            outcome.update { $0 = error ?? .outOfTurn }
        }
        // The authorizing device has refused the code, so the person says no on the new one.
        let person = DeviceWorld.Person(confirms: false)
        let joining = clientError { () throws(ClientError) in
            try world.create(at: location, pairingWith: decoy, "desktop", person) { code in
                paper.update { $0 = code }
            }
        }
        #expect(wait().failureName == "codesDiffer")
        #expect(outcome.wait { $0 } == .refused(.codesDiffer))
        #expect(joining?.caseName == "codesDiffer")
        #expect(!location.exists && laptop.profile.devices == nil)
    }

    /// A transfer that is cut off leaves no profile, and nothing of what had arrived.
    @Test func halfATransferLeavesNothing() throws {
        let (address, location) = (world.address(), world.location())
        let listener = try PairingListener(at: try PairingAddress(address))
        Thread.detachNewThread {
            do throws(ClientError) {
                let connection = try listener.accept(Self.always)
                let first = try connection.receive(Self.always)
                var side = try pairing { () throws(PairingError) in try AuthorizingSide(reading: first) }
                try connection.send(side.beginning, Self.always)
                let number = try connection.receive(Self.always)
                let revealed = try pairing { () throws(PairingError) in try side.reveal(after: number) }
                try connection.send(revealed.reveal, Self.always)
                try connection.send(side.accept(UserID(low: 1, high: 2), "Alice"), Self.always)
                _ = try connection.receive(Self.always)
                let transfer = SecretBytes.random(count: 200_000)
                let messages = try pairing { () throws(PairingError) in
                    try side.transfer(transfer, signing: .random())
                }
                try connection.send(Array(messages.prefix(2)), Self.always)
            } catch {
                Issue.record("\(error)")
            }
        }
        let error = clientError { () throws(ClientError) in
            try world.create(at: location, pairingWith: address, "desktop") { _ in }
        }
        #expect(error?.caseName == "cutOff" && !location.exists)
    }
}
