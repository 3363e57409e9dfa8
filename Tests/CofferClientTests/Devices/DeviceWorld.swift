import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTrust
import Foundation
import Testing

import CofferClient

/// Devices of a person that are paired over a socket, each with a profile of its own.
final class DeviceWorld {
    let directory: TemporaryDirectory
    /// The folder that vaults are synced through.
    let place: MeetingPlace
    private var count = 0

    init() throws {
        directory = try TemporaryDirectory()
        place = try MeetingPlace()
    }

    /// A person whose vault has a remote.
    func sharer() throws -> OpenProfile {
        let alice = try OpenProfile()
        _ = try alice.ask(RemoteRequest.add(vault: "Personal", url: place.url))
        _ = try alice.sync("Personal")
        return alice
    }

    /// A place for a socket that was not used before.
    func address() -> String {
        count += 1
        return "\(directory.path)/pair-\(count)"
    }

    /// A place for a profile that does not exist yet.
    func location() -> ProfileLocation {
        count += 1
        return ProfileLocation(path: "\(directory.path)/profile-\(count)")
    }

    /// What the person does when a device shows or asks something.
    struct Person: Sendable {
        /// Changes the code that the person reads before entering it.
        var misreads: @Sendable (String) -> String = { $0 }
        /// What the person says to the question of the new device.
        var confirms = true
    }

    /// The code on its way from one device to the other.
    private final class Paper: Sendable {
        let code = Condition<String?>(nil)
    }

    /// Lets a device authorize others at an address; returns a function that waits for the result.
    func authorize(
        _ device: OpenProfile, at address: String, entering: @escaping @Sendable () -> String?
    ) -> () -> Result<PairingReport, ClientError> {
        let result = Condition<Result<PairingReport, ClientError>?>(nil)
        let handler = device.handler
        let step = Condition(false)
        Thread.detachNewThread {
            do throws(ClientError) {
                let report = try handler.respond(to: PairRequest.authorize(address: address)) { progress in
                    step.update { $0 = true }
                    guard progress.pairing == .enterCode, let text = entering() else { return }
                    _ = try? handler.respond(to: PairingAnswer.code(text)) { _ in }
                }
                result.update { $0 = .success(report) }
            } catch {
                result.update { $0 = .failure(error) }
            }
            step.update { $0 = true }
        }
        _ = step.wait { $0 ? true : nil }
        return { result.wait { $0 } }
    }

    /// The outcome of a pairing on both devices.
    struct Outcome {
        let authorizing: Result<PairingReport, ClientError>
        let joining: ClientError?
        let location: ProfileLocation
    }

    /// Pairs a device with a new one.
    func pair(
        _ device: OpenProfile, with machine: String, person: Person = Person()
    ) throws -> Outcome {
        let (address, location, paper) = (address(), location(), Paper())
        let wait = authorize(device, at: address) { person.misreads(paper.code.wait { $0 }) }
        let joining = clientError { () throws(ClientError) in
            try create(at: location, pairingWith: address, machine, person) { code in
                paper.code.update { $0 = code }
            }
        }
        return Outcome(authorizing: wait(), joining: joining, location: location)
    }

    func create(
        at location: ProfileLocation, pairingWith address: String, _ machine: String,
        _ person: Person = Person(), show: @escaping (String) -> Void
    ) throws(ClientError) {
        let settings = Profile.Settings(
            name: "me", device: machine, hint: nil, strength: .interactive, firstVault: "Personal")
        let dialogue = PairedProfile.Dialogue(show: show) { name throws(ClientError) in
            #expect(name == "Alice")
            return person.confirms
        }
        _ = try PairedProfile.create(
            at: location, pairingWith: try PairingAddress(address), machine: machine,
            passphrase: secret(TestProfile.passphrase), settings, dialogue)
    }

    /// Pairs a device with a new one, whose profile it opens.
    func paired(_ device: OpenProfile, with machine: String) throws -> OpenProfile {
        let outcome = try pair(device, with: machine)
        let report = try outcome.authorizing.get()
        #expect(outcome.joining == nil && report.isNew)
        return try OpenProfile(TestProfile(at: outcome.location))
    }

    /// Gives a device the newest keys of another one.
    func refresh(_ device: OpenProfile, from other: OpenProfile) throws -> (
        authorizing: Result<PairingReport, ClientError>, refreshing: Result<PairingReport, ClientError>
    ) {
        let (address, paper) = (address(), Paper())
        let wait = authorize(other, at: address) { paper.code.wait { $0 } }
        let handler = device.handler
        let refreshing: Result<PairingReport, ClientError>
        do throws(ClientError) {
            refreshing = .success(
                try handler.respond(to: PairRequest.refresh(address: address)) { progress in
                    switch progress.pairing {
                    case .showCode(let code): paper.code.update { $0 = code }
                    case .confirm: _ = try? handler.respond(to: PairingAnswer.isSame(true)) { _ in }
                    default: return
                    }
                })
        } catch {
            refreshing = .failure(error)
            // The other device may wait for a code that never comes.
            paper.code.update { $0 = $0 ?? "" }
        }
        return (wait(), refreshing)
    }
}

extension Result where Failure == ClientError {
    /// The name of the error; nil for a success.
    var failureName: String? {
        switch self {
        case .success: nil
        case .failure(let error): error.caseName
        }
    }
}
