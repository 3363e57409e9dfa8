internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem
internal import CofferTrust

/// A pairing on the device that receives the person's keys.
struct JoiningPairing: ~Copyable {
    private let connection: PairingConnection
    private var side: JoiningSide
    private let acceptance: PairingAcceptance
    private let isHeard: () -> Bool

    /// The person's name, as the other device states it.
    var name: String { acceptance.name }
    /// The id of the person's device chain.
    var user: UserID { acceptance.user }

    /// Connects to a device, and has the person compare the codes.
    ///
    /// - Parameters:
    ///   - show: Called with the code, which the person enters on the other device.
    ///   - confirm: Asks the person whether the other device says that the codes are the same.
    /// - Throws: `.device`.
    init(
        at address: PairingAddress, isHeard: @escaping () -> Bool, show: (PairingCode) -> Void,
        confirm: (PairingAcceptance) throws(ClientError) -> Bool
    ) throws(ClientError) {
        let connection = try address.connect()
        let short = PairingConnection.Wait(nanoseconds: PairingConnection.Wait.program, isHeard: isHeard)
        let long = PairingConnection.Wait(nanoseconds: PairingConnection.Wait.person, isHeard: isHeard)
        let hello = JoiningSide.Hello()
        let first = hello.message
        try connection.send(first, short)
        let answer = try connection.receive(short)
        var side = try Self.greeting(hello, answer)
        let commitment = try connection.receive(short)
        let number = try pairing { () throws(PairingError) in try side.number(after: commitment) }
        try connection.send(number, short)
        let reveal = try connection.receive(short)
        let code = try pairing { () throws(PairingError) in try side.code(after: reveal) }
        show(code)
        let message = try connection.receive(long)
        let acceptance = try pairing { () throws(PairingError) in try side.acceptance(message) }
        let isSame: Bool
        do throws(ClientError) { isSame = try confirm(acceptance) } catch {
            try? connection.send(side.refuse(.cancelled), Self.parting)
            throw error
        }
        guard isSame else {
            try? connection.send(side.refuse(.codesDiffer), Self.parting)
            throw .device(.codesDiffer)
        }
        self.connection = connection
        self.side = side
        self.acceptance = acceptance
        self.isHeard = isHeard
    }

    private static func greeting(
        _ hello: consuming JoiningSide.Hello, _ answer: [UInt8]
    ) throws(ClientError) -> JoiningSide {
        do throws(PairingError) { return try JoiningSide(hello, answer: answer) } catch {
            throw .device(.pairing(error))
        }
    }

    private static var parting: PairingConnection.Wait {
        PairingConnection.Wait(nanoseconds: PairingConnection.Wait.parting) { true }
    }

    private func wait(_ nanoseconds: Int64) -> PairingConnection.Wait {
        PairingConnection.Wait(nanoseconds: nanoseconds, isHeard: isHeard)
    }

    /// Asks to become a device of the person, and receives what it needs.
    mutating func receive(asNew keys: DeviceKeys) throws(ClientError) -> PairingBundle {
        let operation: DeviceOperation
        do throws(TrustError) { operation = try keys.addition(to: user) } catch { throw .trust(error) }
        let acceptance = acceptance
        let request: [UInt8]
        do throws(PairingError) {
            request = try side.ask(operation, acceptance, signing: keys.signing)
        } catch {
            throw .device(.pairing(error))
        }
        return try receive(after: request, keys)
    }

    /// Asks for the person's present keys, as a device that is in the list.
    mutating func receive(asKnown keys: DeviceKeys) throws(ClientError) -> PairingBundle {
        try receive(after: side.ask(keys.id, acceptance, signing: keys.signing), keys)
    }

    private mutating func receive(
        after request: [UInt8], _ keys: DeviceKeys
    ) throws(ClientError) -> PairingBundle {
        let wait = wait(PairingConnection.Wait.storing)
        try connection.send(request, wait)
        let head = try connection.receive(wait)
        do throws(PairingError) { try side.begin(transfer: head) } catch { throw .device(.pairing(error)) }
        while true {
            let piece = try connection.receive(wait)
            if let transfer = try add(piece) { return try check(transfer, keys) }
        }
    }

    private mutating func add(_ piece: [UInt8]) throws(ClientError) -> SecretBytes? {
        do throws(PairingError) { return try side.add(piece: piece) } catch {
            throw .device(.pairing(error))
        }
    }

    /// Decodes a transfer, and checks that a trusted device of the list has signed it, and that the list has this
    /// device.
    private func check(
        _ transfer: consuming SecretBytes, _ keys: DeviceKeys
    ) throws(ClientError) -> PairingBundle {
        let bundle: PairingBundle
        do throws(FormatError) {
            bundle = try transfer.withBytes { bytes throws(FormatError) in try PairingBundle(bytes) }
        } catch {
            throw .device(.damagedTransfer)
        }
        let trusted = bundle.devices.state.devices
        guard bundle.devices.id == ChainID(user),
            trusted[keys.id]?.signing.bytes == keys.signing.publicKey
        else { throw .device(.damagedTransfer) }
        do throws(PairingError) {
            try side.check(transfer, by: trusted.values.filter { $0.id != keys.id })
        } catch {
            throw .device(.pairing(error))
        }
        return bundle
    }

    /// Says that everything is stored.
    mutating func finish() throws(ClientError) {
        try connection.send(side.done(), wait(PairingConnection.Wait.program))
    }
}
