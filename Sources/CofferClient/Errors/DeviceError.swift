package import CofferSystem
package import CofferTrust

/// A failure to pair two devices, or to revoke one.
package enum DeviceError: Error {
    /// The text is neither HOST:PORT nor the path of a socket.
    case address(String)
    /// Nothing can listen there.
    case cannotListen(String, SystemError)
    /// Nothing answers there.
    case cannotConnect(String, SystemError)
    /// This profile takes part in another pairing.
    case busy
    /// No pairing waits for an answer of the person.
    case noQuestion
    /// The connection ended before the pairing did.
    case cutOff
    /// The other device, or the person, did not answer in time.
    case noAnswer
    /// The command that started the pairing has ended.
    case cancelled
    /// The codes on the two devices differ.
    case codesDiffer
    /// The other side does not follow the protocol, or has ended the pairing.
    case pairing(PairingError)
    /// The device, or one of its keys, is or was in the list already.
    case alreadyAuthorized
    /// Another device of the person has this name.
    case nameTaken(String)
    /// The device is in the list now, but has not said that it received everything.
    case notConfirmed(name: String)
    /// The device that asked for new keys is not one of this person's.
    case unknownDevice
    /// The device that asked for new keys was revoked.
    case revokedDevice
    /// What the other device sent is not what it should be.
    case damagedTransfer
    /// The other device belongs to another person.
    case otherPerson
    /// The other device has older keys than this one.
    case olderKeys
    /// Each of the two devices has changed the list without the other.
    case listsDiffer
    /// This device is no longer trusted.
    case revokedHere
    /// No device has this name, or several ids begin with it.
    case noSuchDevice(String)
    /// It is the only device.
    case lastDevice
    /// It is the device on which the command runs.
    case thisDevice
}

extension DeviceError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .address(let text):
            "“\(text)” is not an address. Use HOST:PORT, or the path of a socket, which contains a “/”."
        case .cannotListen(let address, let error): "Coffer cannot listen at \(address): \(error)."
        case .cannotConnect(let address, let error):
            """
            No device answers at \(address): \(error). Run “coffer device authorize” on your other device, and use \
            the address that it prints.
            """
        case .busy: "This profile is being paired already. End the other command first."
        case .noQuestion: "No pairing waits for an answer."
        case .cutOff:
            "The connection ended before the pairing was complete. Nothing was changed here. Pair the devices again."
        case .noAnswer: "There was no answer in time. Nothing was changed here. Pair the devices again."
        case .cancelled: "The pairing was cancelled."
        case .codesDiffer:
            """
            The codes differ, so nothing was transferred. If they were copied correctly, somebody may be between the \
            two devices: use another network, or a socket on one machine.
            """
        case .pairing(let error): Self.text(error)
        case .alreadyAuthorized:
            "The device was authorized before, or uses a key that was. Nothing was changed. See: coffer device list"
        case .nameTaken(let name):
            """
            You have, or had, a device that is called “\(name)”. Give the new one another name with --device. Devices \
            with the same name would be taken for one.
            """
        case .notConfirmed(let name):
            """
            “\(name)” is authorized, but the connection ended before it said that it has everything. If it has no \
            profile, revoke it with “coffer device revoke”, and pair it again under another name.
            """
        case .unknownDevice: "The device that asked is not one of yours, so it received nothing."
        case .revokedDevice: "The device that asked was revoked, so it received nothing."
        case .damagedTransfer:
            "What the other device sent is damaged, or was made by another version of Coffer. Nothing was stored."
        case .otherPerson: "The other device belongs to another identity. Nothing was changed."
        case .olderKeys:
            """
            The other device has older keys than this one. Run “coffer device authorize” here, and “coffer device \
            refresh” there.
            """
        case .listsDiffer:
            """
            Both devices have added or revoked devices without each other, and their lists cannot be joined. Keep one \
            of the two profiles, and make the other one anew with “coffer init --pair”.
            """
        case .revokedHere: "This device was revoked. It receives nothing more."
        case .noSuchDevice(let name): "You have no device “\(name)”. See: coffer device list"
        case .lastDevice: "It is your only device, so it cannot be revoked: nobody would have your keys."
        case .thisDevice: "A device cannot revoke itself. Revoke it from another of your devices."
        }
    }

    private static func text(_ error: PairingError) -> String {
        switch error {
        case .wrongCommitment:
            """
            The other side changed a number that it had committed to. Somebody may be between the two devices. Nothing \
            was transferred.
            """
        case .altered, .format, .outOfTurn, .tooLarge:
            """
            The other side does not speak the same protocol, or a message was altered on the way. Nothing was changed \
            here. Pair the devices again.
            """
        case .wrongSignature: "A signature of the other device is wrong. Nothing was changed here."
        case .refused(.codesDiffer): "The other device says that the codes differ. Nothing was transferred."
        case .refused(.usedBefore): "The other device says that this device was authorized before."
        case .refused(.unknownDevice): "The other device says that this device is not in its list."
        case .refused(.revoked): "The other device says that this device was revoked."
        case .refused(.nameTaken):
            "You have, or had, a device of this name. Choose another name with --device, and pair the devices again."
        case .refused(.cancelled): "The pairing was cancelled on the other device. Nothing was changed here."
        case .refused(.failed): "The other device could not read or store what it needs. See its message."
        }
    }

    var exitCode: Int32 {
        switch self {
        case .address: 64  // EX_USAGE
        case .damagedTransfer: 65  // EX_DATAERR
        case .noSuchDevice: 66  // EX_NOINPUT
        case .alreadyAuthorized, .nameTaken, .pairing(.refused(.nameTaken)): 73  // EX_CANTCREAT
        case .cannotListen, .cannotConnect, .cutOff, .pairing(.refused(.failed)): 74  // EX_IOERR
        case .busy, .noQuestion, .noAnswer, .cancelled, .notConfirmed, .pairing(.refused(.cancelled)):
            75  // EX_TEMPFAIL
        case .pairing, .codesDiffer, .unknownDevice, .revokedDevice, .otherPerson, .olderKeys, .listsDiffer,
            .revokedHere, .lastDevice, .thisDevice:
            77  // EX_NOPERM
        }
    }
}
